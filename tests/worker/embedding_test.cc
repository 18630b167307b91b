#include "worker/embedding.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TableSpec Table(uint32_t id, uint64_t rows, uint32_t dim) {
  TableSpec table;
  table.id = TableId{id};
  table.name = "table" + std::to_string(id);
  table.rows = rows;
  table.dim = dim;
  return table;
}

Bags MakeBags(std::vector<uint32_t> offsets, std::vector<uint64_t> ids) {
  Bags bags;
  bags.offsets = std::move(offsets);
  bags.ids = std::move(ids);
  return bags;
}

TEST(EmbeddingLayer, ARowCrossesTheWireOnceAndGetsTheSumOfItsGradients) {
  EmbeddingLayer layer({Table(0, 10, 2), Table(1, 5, 1)});
  ASSERT_OK(
      layer.Prepare({MakeBags({0, 3, 3, 5}, {7, 2, 7, 2, 9}), MakeBags({0, 1, 2, 3}, {4, 4, 4})}));
  RowBatch& batch = layer.row_batches()[0];
  EXPECT_EQ(batch.table, TableId{0});
  EXPECT_EQ(batch.dim, 2u);
  EXPECT_EQ(batch.rows, (std::vector<RowId>{RowId{2}, RowId{7}, RowId{9}}));
  EXPECT_EQ(batch.counts, (std::vector<uint32_t>{2, 2, 1}));
  ASSERT_EQ(batch.values.size(), 6u);
  batch.values = {1, 10, 2, 20, 4, 40};

  std::vector<float> pooled(6, -1.0f);
  layer.Forward(0, pooled);
  EXPECT_EQ(pooled, (std::vector<float>{5, 50, 0, 0, 5, 50}));

  layer.Backward(0, std::vector<float>{1, -1, 100, 100, 0.5f, 0.25f});
  EXPECT_EQ(batch.gradients, (std::vector<float>{1.5f, -0.75f, 2, -2, 0.5f, 0.25f}));
  layer.Backward(1, std::vector<float>{1, 2, 4});
  EXPECT_EQ(layer.row_batches()[1].gradients, (std::vector<float>{7}));
}

TEST(EmbeddingLayer, TheNextBatchRemembersNothing) {
  EmbeddingLayer layer({Table(0, 10, 1)});
  ASSERT_OK(layer.Prepare({MakeBags({0, 2}, {3, 4})}));
  layer.row_batches()[0].values = {1, 2};
  layer.Backward(0, std::vector<float>{8});
  ASSERT_OK(layer.Prepare({MakeBags({0, 1}, {4})}));
  EXPECT_EQ(layer.row_batches()[0].rows, std::vector<RowId>{RowId{4}});
  EXPECT_EQ(layer.row_batches()[0].values.size(), 1u);
  layer.Backward(0, std::vector<float>{0.5f});
  EXPECT_EQ(layer.row_batches()[0].gradients, std::vector<float>{0.5f});
}

TEST(EmbeddingLayer, ABatchOfNoSamplesHasNoRows) {
  EmbeddingLayer layer({Table(0, 10, 4)});
  ASSERT_OK(layer.Prepare({Bags()}));
  EXPECT_TRUE(layer.row_batches()[0].rows.empty());
  layer.Forward(0, {});
  layer.Backward(0, {});
  EXPECT_TRUE(layer.row_batches()[0].gradients.empty());
}

TEST(EmbeddingLayer, AnIdOutsideItsTableIsNamedWithTableAndSample) {
  EmbeddingLayer layer({Table(0, 10, 2), Table(1, 5, 2)});
  ASSERT_OK(layer.Prepare({MakeBags({0, 1, 2}, {1, 2}), MakeBags({0, 1, 2}, {1, 2})}));
  const Status status =
      layer.Prepare({MakeBags({0, 0, 0, 0}, {}), MakeBags({0, 2, 2, 3}, {0, 4, 5})});
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(),
              HasSubstr("table \"table1\", sample 2 of the batch: id 5 is outside"));
  EXPECT_EQ(layer.row_batches()[0].rows.size(), 2u) << "changed although the call failed";
}

}  // namespace
}  // namespace rowhouse
