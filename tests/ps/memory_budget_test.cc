#include "ps/shard/memory_budget.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(MemoryBudget, PartsAddUpToTheLimit) {
  for (const uint64_t mb : {128, 200, 512, 1000, 4096, 1 << 20}) {
    const MemoryBudget budget = DivideMemory(mb << 20, 1).value();
    EXPECT_LE(budget.total(), mb << 20) << mb;
    EXPECT_GE(budget.total() + 16, mb << 20) << mb;
    EXPECT_GT(budget.cache_bytes, 0u) << mb;
    EXPECT_LE(budget.memtable_bytes, uint64_t{64} << 20) << mb;
  }
}

TEST(MemoryBudget, OfHalfAGigabyteATwoFifthsAreForRows) {
  const MemoryBudget budget = DivideMemory(uint64_t{512} << 20, 1).value();
  EXPECT_EQ(budget.request_bytes >> 20, 128u);
  EXPECT_EQ(budget.memtable_bytes >> 20, 64u);
  EXPECT_EQ(budget.block_cache_bytes >> 20, 32u);
  EXPECT_EQ(budget.unwritten_bytes >> 20, 32u);
  EXPECT_EQ(budget.prefetch_bytes >> 20, 16u);
  EXPECT_EQ(budget.cache_bytes >> 20, 163u);  // (512 - 56 - 272) * 8 / 9
}

TEST(MemoryBudget, OfMoreMemoryTheStoresHaveMore) {
  const uint64_t limit = uint64_t{16} << 30;
  const MemoryBudget one = DivideMemory(limit, 1).value();
  EXPECT_EQ(one.memtable_bytes >> 20, 64u);
  EXPECT_EQ(one.block_cache_bytes >> 20, 1024u);
  EXPECT_EQ(DivideMemory(limit, 8).value().memtable_bytes >> 20, 512u);
  const MemoryBudget many = DivideMemory(limit, 64).value();
  EXPECT_EQ(many.memtable_bytes >> 20, 1024u);  // A sixteenth, where 64 MiB each would be more.
  EXPECT_LE(many.total(), limit);
  EXPECT_LT(many.cache_bytes, one.cache_bytes);
}

TEST(StoreBytes, GrowWithTheCacheBeyondAGibibyte) {
  for (const uint64_t cache : {uint64_t{1} << 20, uint64_t{1} << 30}) {
    const StoreBytes bytes = StoreBytes::Beside(cache, 8);
    EXPECT_EQ(bytes.memtables >> 20, 64u) << cache;
    EXPECT_EQ(bytes.blocks >> 20, 64u) << cache;
  }
  const StoreBytes of_eight = StoreBytes::Beside(uint64_t{4} << 30, 8);
  EXPECT_EQ(of_eight.memtables >> 20, 256u);
  EXPECT_EQ(of_eight.blocks >> 20, 256u);
  EXPECT_EQ(StoreBytes::Beside(uint64_t{4} << 30, 2).memtables >> 20, 128u);
}

TEST(MemoryBudget, NarrowRowsLeaveRoomForWhatLiesBesideThem) {
  const MemoryBudget budget = DivideMemory(uint64_t{512} << 20, 1).value();
  EXPECT_EQ(budget.RecordBytes(0.0), budget.cache_bytes);
  for (const double slots : {8.0 / 80, 8.0 / 32, 28.0 / 24}) {
    const auto records = static_cast<double>(budget.RecordBytes(slots));
    EXPECT_LT(records, static_cast<double>(budget.cache_bytes)) << slots;
    EXPECT_NEAR(records * (1 + 1.0 / 16 + 1.0 / 32 + slots) / (1 << 20), 184.0, 0.1) << slots;
  }
}

TEST(MemoryBudget, ALimitThatLeavesNothingIsRefused) {
  const auto budget = DivideMemory(uint64_t{127} << 20, 1);
  EXPECT_EQ(budget.status().exit_code(), 2);
  EXPECT_THAT(budget.status().message(), testing::HasSubstr("memory_limit_mb=127"));
  EXPECT_THAT(budget.status().message(), testing::HasSubstr("128 MiB"));
}

}  // namespace
}  // namespace rowhouse
