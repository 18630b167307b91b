#include "ps/memory_budget.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(MemoryBudget, PartsAddUpToTheLimit) {
  for (const uint64_t mb : {128, 200, 512, 1000, 4096, 1 << 20}) {
    const MemoryBudget budget = DivideMemory(mb << 20).value();
    EXPECT_LE(budget.total(), mb << 20) << mb;
    EXPECT_GE(budget.total() + 16, mb << 20) << mb;
    EXPECT_GT(budget.cache_bytes, 0u) << mb;
    EXPECT_LE(budget.memtable_bytes, uint64_t{64} << 20) << mb;
  }
}

TEST(MemoryBudget, OfHalfAGigabyteATwoFifthsAreForRows) {
  const MemoryBudget budget = DivideMemory(uint64_t{512} << 20).value();
  EXPECT_EQ(budget.request_bytes >> 20, 128u);
  EXPECT_EQ(budget.memtable_bytes >> 20, 64u);
  EXPECT_EQ(budget.block_cache_bytes >> 20, 32u);
  EXPECT_EQ(budget.unwritten_bytes >> 20, 32u);
  EXPECT_EQ(budget.announced_bytes >> 20, 16u);
  EXPECT_EQ(budget.cache_bytes >> 20, 163u);  // (512 - 56 - 272) * 8 / 9
}

TEST(MemoryBudget, NarrowRowsLeaveRoomForWhatLiesBesideThem) {
  const MemoryBudget budget = DivideMemory(uint64_t{512} << 20).value();
  EXPECT_EQ(budget.RecordBytes(0.0), budget.cache_bytes);
  for (const double slots : {8.0 / 80, 8.0 / 32, 28.0 / 24}) {
    const auto records = static_cast<double>(budget.RecordBytes(slots));
    EXPECT_LT(records, static_cast<double>(budget.cache_bytes)) << slots;
    EXPECT_NEAR(records * (1 + 1.0 / 16 + 1.0 / 32 + slots) / (1 << 20), 184.0, 0.1) << slots;
  }
}

TEST(MemoryBudget, ALimitThatLeavesNothingIsRefused) {
  const auto budget = DivideMemory(uint64_t{127} << 20);
  EXPECT_EQ(budget.status().exit_code(), 2);
  EXPECT_THAT(budget.status().message(), testing::HasSubstr("memory_limit_mb=127"));
  EXPECT_THAT(budget.status().message(), testing::HasSubstr("128 MiB"));
}

}  // namespace
}  // namespace rowhouse
