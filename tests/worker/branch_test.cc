// One branch by hand, without the layer around it.
#include "worker/embedding/branch.h"

#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kDim = 2;

// The branch of a table of one group, over rows that a test fills.
struct OneBranch {
  explicit OneBranch(const LogicalTable& table, BagBatch* pooled_on_shards = nullptr)
      : tables(EmbeddingTables::Make({table}).value()),
        lookups(tables),
        context{.lookups = lookups, .dense = dense},
        branch(tables.features[0], tables.features[0].groups[0], std::nullopt,
               std::vector<BagBatch*>(tables.features[0].parts.size(), pooled_on_shards), context) {
  }

  void Resolve(const std::vector<uint32_t>& offsets, const std::vector<uint64_t>& ids) {
    lookups.Clear();
    branch.Resolve({.offsets = offsets, .ids = ids}, {});
    lookups.Merge();
    for (RowBatch& batch : lookups.batches()) batch.gradients.assign(batch.values.size(), 0.0f);
  }

  std::vector<float> Forward(SampleSlice samples) {
    std::vector<float> out(samples.count * tables.features[0].out_width(), -1.0f);
    branch.Forward(samples, out);
    return out;
  }

  const EmbeddingTables tables;
  DenseParameters dense;
  BatchLookups lookups;
  BranchContext context;
  Branch branch;
};

TEST(Branch, PoolsTheRowsOfABagAndGivesEachItsGradient) {
  OneBranch one(TableOfKind("plain", {}, 10, kDim));
  one.Resolve({0, 3, 3}, {7, 2, 7});
  RowBatch& rows = one.lookups.rows(TableId{0});
  ASSERT_EQ(rows.rows, (std::vector<RowId>{RowId{2}, RowId{7}}));
  rows.values = {1, 10, 2, 20};
  EXPECT_EQ(one.Forward({0, 2}), (std::vector<float>{5, 50, 0, 0}));
  one.branch.Backward({0, 2}, std::vector<float>{1, -1, 100, 100});
  EXPECT_EQ(rows.gradients, (std::vector<float>{1, -1, 2, -2}));
}

TEST(Branch, CombinesThePartsOfAnIdBeforePooling) {
  // Ids 5 = 1 * 4 + 1 and 4 = 1 * 4 + 0: quotient row 1, remainder rows 1 and 0.
  OneBranch one(TableOfKind("qr", {{"collisions", "4"}}, 8, kDim));
  one.Resolve({0, 2}, {5, 4});
  RowBatch& quotients = one.lookups.rows(TableId{0});
  RowBatch& remainders = one.lookups.rows(TableId{1});
  ASSERT_EQ(quotients.rows, std::vector<RowId>{RowId{1}});
  ASSERT_EQ(remainders.rows, (std::vector<RowId>{RowId{0}, RowId{1}}));
  quotients.values = {2, 3};
  remainders.values = {10, 100, 1, 7};
  EXPECT_EQ(one.Forward({0, 1}), (std::vector<float>{22, 321}));
  one.branch.Backward({0, 1}, std::vector<float>{1, 2});
  EXPECT_EQ(quotients.gradients, (std::vector<float>{11, 214}));
  EXPECT_EQ(remainders.gradients, (std::vector<float>{2, 6, 2, 6}));
}

TEST(Branch, TakesWhatShardsPooledAndWritesTheGradientOfALookup) {
  BagBatch bags;
  bags.dim = kDim;
  LogicalTable table = TableOfKind("plain", {}, 10, kDim);
  table.pooling = "mean";
  OneBranch one(table, &bags);
  one.Resolve({0, 2, 2}, {7, 2});
  EXPECT_EQ(bags.rows, (std::vector<uint64_t>{7, 2}));
  EXPECT_EQ(bags.offsets, (std::vector<uint32_t>{0, 2, 2}));
  EXPECT_TRUE(one.lookups.rows(TableId{0}).rows.empty());
  bags.pooled = {6, 8, 0, 0};
  bags.gradients.assign(4, -1.0f);
  EXPECT_EQ(one.Forward({0, 2}), (std::vector<float>{3, 4, 0, 0}));
  one.branch.Backward({0, 2}, std::vector<float>{4, 2, 5, 5});
  EXPECT_EQ(bags.gradients, (std::vector<float>{2, 1, 5, 5}));
}

TEST(Branch, RangesOfSamplesAreIndependent) {
  LogicalTable table = TableOfKind("plain", {}, 10, kDim);
  table.pooling = "max";
  OneBranch one(table);
  one.Resolve({0, 2, 3}, {1, 2, 1});
  RowBatch& rows = one.lookups.rows(TableId{0});
  rows.values = {1, 40, 3, 20};
  EXPECT_EQ(one.Forward({0, 1}), (std::vector<float>{3, 40}));
  one.branch.Backward({0, 1}, std::vector<float>{1, 2});
  EXPECT_EQ(one.Forward({1, 1}), (std::vector<float>{1, 40}));
  one.branch.Backward({1, 1}, std::vector<float>{10, 20});
  EXPECT_EQ(rows.gradients, (std::vector<float>{10, 22, 1, 0}));
}

TEST(Branch, AFrozenTableGetsNoGradient) {
  LogicalTable table = TableOfKind("plain", {}, 10, kDim);
  table.freeze = true;
  OneBranch one(table);
  one.Resolve({0, 1}, {4});
  one.lookups.rows(TableId{0}).values = {1, 2};
  EXPECT_EQ(one.Forward({0, 1}), (std::vector<float>{1, 2}));
  one.branch.Backward({0, 1}, std::vector<float>{1, 1});
  EXPECT_EQ(one.lookups.rows(TableId{0}).gradients, (std::vector<float>{0, 0}));
}

TEST(BatchLookups, BranchesOfOneTableShareItsRows) {
  const EmbeddingTables tables =
      EmbeddingTables::Make({TableOfKind("plain", {}, 10, kDim)}).value();
  BatchLookups lookups(tables);
  lookups.Clear();
  size_t first = 0, second = 0;
  std::ranges::copy(std::vector<uint64_t>{5, 3}, lookups.Add(TableId{0}, 2, &first).begin());
  std::ranges::copy(std::vector<uint64_t>{5}, lookups.Add(TableId{0}, 1, &second).begin());
  lookups.Merge();
  EXPECT_EQ(lookups.rows(TableId{0}).rows, (std::vector<RowId>{RowId{3}, RowId{5}}));
  EXPECT_EQ(lookups.rows(TableId{0}).counts, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(lookups.rows(TableId{0}).values.size(), 4u);
  EXPECT_EQ(lookups.Slots(TableId{0}, first, 2)[0], 1u);
  EXPECT_EQ(lookups.Slots(TableId{0}, second, 1)[0], 1u);
}

}  // namespace
}  // namespace rowhouse
