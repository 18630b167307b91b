// What block tables save, and the limit that ranks raise.
#include "sharding/tables/block_sizes.h"

#include "sharding/tables/table_sizes.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

EmbeddingTables Model(const std::vector<LogicalTable>& tables) {
  auto made = EmbeddingTables::Make(tables);
  EXPECT_OK(made);
  return made.value();
}

LogicalTable Table(const std::string& name, uint64_t rows, uint32_t dim, const std::string& kind) {
  LogicalTable table;
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  table.kind = kind;
  return table;
}

TEST(BlockSizesTest, ATableOfTheNotebookShrinksAsItSays) {
  // 2^20 rows of 512 floats are 2048 MiB; with rows of 128, 512 MiB and a projection.
  const std::vector<BlockSavings> savings =
      BlockSavingsOf(Model({Table("t", 1 << 20, 512, "plain")}));
  ASSERT_GE(savings.size(), 2u);
  const BlockSavings& quarter = savings[1];
  EXPECT_EQ(quarter.divisor, 4u);
  EXPECT_EQ(quarter.plain_bytes, uint64_t{2048} << 20);
  EXPECT_EQ(quarter.rows_bytes + quarter.projection_bytes, 537133056u);
  EXPECT_EQ(quarter.saved_bytes() / 4, (int64_t{1} << 20) * (512 - 128) - 128 * 512);
  EXPECT_EQ(quarter.multiply_adds, 128u * 512);
}

TEST(BlockSizesTest, AShortTableIsLargerWithItsProjection) {
  const std::vector<BlockSavings> savings = BlockSavingsOf(Model({Table("t", 10, 64, "plain")}));
  EXPECT_LT(savings[0].saved_bytes(), 0);
}

TEST(BlockSizesTest, OtherKindsAreLeftOut) {
  LogicalTable hashed = Table("t", 1000, 16, "hashed");
  hashed.kind_options = {{"buckets", "100"}};
  EXPECT_TRUE(BlockSavingsOf(Model({hashed})).empty());
}

TEST(BlockSizesTest, FourRanksRaiseTheLimitBySixteen) {
  // The claim: 17.5 G parameters on each of 4 ranks, 280 G as block tables over all of them.
  const RankLimits limits = RankLimitsOf(17'500'000'000, 128, 4);
  EXPECT_EQ(limits.replicated, 17'500'000'000u);
  EXPECT_EQ(limits.divided, 4 * limits.replicated);
  EXPECT_NEAR(static_cast<double>(limits.as_blocks), 280e9, 1e5);
  // What exists is four times what one rank holds.
  EXPECT_NEAR(static_cast<double>(limits.stored_as_blocks), 70e9, 200);
}

TEST(BlockSizesTest, RanksBeyondTheWidthOfARowLeaveNoBlock) {
  EXPECT_EQ(RankLimitsOf(1 << 20, 16, 32).as_blocks, 0u);
  EXPECT_EQ(RankLimitsOf(10, 16, 2).as_blocks, 0u);  // not even the projection
  EXPECT_EQ(RankLimitsOf(1 << 20, 16, 1).divided, uint64_t{1} << 20);
}

TEST(BlockSizesTest, LimitIsWhereAPieceStillFits) {
  const uint64_t memory = 1'000'000;
  const RankLimits limits = RankLimitsOf(memory, 64, 4);
  const uint64_t rows = limits.as_blocks / 64;
  EXPECT_LE(SplitIntoBlocks(rows, 64, 4).per_rank, memory);
  EXPECT_GT(SplitIntoBlocks(rows + 4, 64, 4).per_rank, memory);
}

}  // namespace
}  // namespace rowhouse
