// Lookups of a table that is whole in memory (EmbeddingLayer::ReadFrom) give the bits of lookups
// whose repeated rows were merged, for tables of every kind.
#include <cmath>

#include "tests/testing/embedding_over_arrays.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

LogicalTable TableFor(const std::string& kind) {
  const KindOptions options =
      kind == "grouped" ? KindOptions{{"groups", "3"}} : MinimalOptions(kind);
  return TableOfKind(kind, options, 60, 8);
}

// Numbers of many bits, so that another order of sums shows.
void FillWithNumbers(std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) + 0.3f);
}

const Bags kBags = BagsOf({0, 3, 3, 4, 9}, {7, 2, 7, 59, 0, 31, 31, 8, 2});

class WholeTables : public testing::TestWithParam<std::string> {
 protected:
  void ExpectSameBits(const LogicalTable& table) {
    EmbeddingOverArrays merged({table}), whole({table});
    for (EmbeddingOverArrays* layer : {&merged, &whole}) {
      for (std::vector<float>& values : layer->tables) FillWithNumbers(values);
      FillWithNumbers(layer->dense.values());
    }
    const std::vector<TableSpec>& physical = whole.embedding.tables().physical;
    for (const TableSpec& spec : physical) {
      whole.embedding.ReadFrom(spec.id, whole.tables[Raw(spec.id)]);
    }
    EXPECT_EQ(whole.Forward({kBags}), merged.Forward({kBags}));
    for (const RowBatch& batch : whole.embedding.row_batches()) EXPECT_TRUE(batch.rows.empty());
  }
};

TEST_P(WholeTables, GiveTheBitsOfMergedRows) {
  for (const char* pooling : {"sum", "mean", "max"}) {
    LogicalTable table = TableFor(GetParam());
    table.pooling = pooling;
    if (!EmbeddingTables::Make({table}).ok()) continue;  // max over groups
    SCOPED_TRACE(pooling);
    ExpectSameBits(table);
  }
}

TEST_P(WholeTables, GiveTheBitsOfMergedRowsWithLearnedWeights) {
  LogicalTable table = TableFor(GetParam());
  table.weighted_pooling = "learned";
  ExpectSameBits(table);
}

// Each physical table is quantised, learned weights among them.
TEST_P(WholeTables, QuantisedGiveTheBitsOfTheNumbersTheyStandFor) {
  for (const uint32_t bits : kQuantisedBits) {
    SCOPED_TRACE(bits);
    LogicalTable table = TableFor(GetParam());
    table.weighted_pooling = "learned";
    EmbeddingOverArrays merged({table}), whole({table});
    for (EmbeddingOverArrays* layer : {&merged, &whole}) {
      for (std::vector<float>& values : layer->tables) FillWithNumbers(values);
      FillWithNumbers(layer->dense.values());
    }
    std::vector<std::vector<std::byte>> tables;
    for (const TableSpec& spec : whole.embedding.tables().physical) {
      std::vector<float>& values = merged.tables[Raw(spec.id)];
      std::vector<std::byte>& rows = tables.emplace_back(spec.rows * BytesOfRow(bits, spec.dim));
      ASSERT_OK(QuantiseRows(bits, 0, values, spec.dim, rows));
      DequantiseRows(bits, rows, spec.dim, values);
      whole.embedding.ReadFrom(spec.id, {rows, bits});
    }
    EXPECT_EQ(whole.Forward({kBags}), merged.Forward({kBags}));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WholeTables, testing::ValuesIn(TableKinds().Names()),
                         [](const auto& test) { return test.param; });

TEST(WholeTablesBesideOthers, OnlyTheOthersAreFetched) {
  LogicalTable first = TableOfKind("plain", {}, 60, 2), second = first;
  second.name = "table1";
  EmbeddingOverArrays layer({first, second});
  layer.embedding.ReadFrom(TableId{0}, layer.tables[0]);
  ASSERT_OK(layer.embedding.Prepare({kBags, kBags}));
  EXPECT_TRUE(layer.embedding.row_batches()[0].rows.empty());
  EXPECT_EQ(layer.embedding.row_batches()[1].rows.size(), 6u);
}

}  // namespace
}  // namespace rowhouse
