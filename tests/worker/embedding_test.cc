#include "worker/embedding/embedding.h"

#include <string>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

LogicalTable Table(int number, uint64_t rows, uint32_t dim) {
  LogicalTable table;
  table.name = "table" + std::to_string(number);
  table.rows = rows;
  table.dim = dim;
  return table;
}

// A layer of its own with dense parameters of its own.
struct Layer {
  explicit Layer(const std::vector<LogicalTable>& tables)
      : embedding(EmbeddingTables::Make(tables).value(), &dense) {
    dense.Allocate();
  }

  // The whole batch forward, out of the rows there are.
  std::vector<float> Forward(size_t feature, size_t samples) {
    std::vector<float> out(samples * embedding.out_width(feature), -1.0f);
    embedding.Forward(feature, {0, samples}, out);
    return out;
  }

  std::vector<RowBatch>& rows() { return embedding.row_batches(); }

  DenseParameters dense;
  EmbeddingLayer embedding;
};

Bags MakeBags(std::vector<uint32_t> offsets, std::vector<uint64_t> ids) {
  Bags bags;
  bags.offsets = std::move(offsets);
  bags.ids = std::move(ids);
  return bags;
}

TEST(EmbeddingLayer, ARowCrossesTheWireOnceAndGetsTheSumOfItsGradients) {
  Layer layer({Table(0, 10, 2), Table(1, 5, 1)});
  ASSERT_OK(layer.embedding.Prepare(
      {MakeBags({0, 3, 3, 5}, {7, 2, 7, 2, 9}), MakeBags({0, 1, 2, 3}, {4, 4, 4})}));
  RowBatch& batch = layer.rows()[0];
  EXPECT_EQ(batch.table, TableId{0});
  EXPECT_EQ(batch.dim, 2u);
  EXPECT_EQ(batch.rows, (std::vector<RowId>{RowId{2}, RowId{7}, RowId{9}}));
  EXPECT_EQ(batch.counts, (std::vector<uint32_t>{2, 2, 1}));
  ASSERT_EQ(batch.values.size(), 6u);
  batch.values = {1, 10, 2, 20, 4, 40};
  layer.embedding.RowsArrived();
  EXPECT_EQ(layer.Forward(0, 3), (std::vector<float>{5, 50, 0, 0, 5, 50}));
  layer.Forward(1, 3);

  layer.embedding.Backward(0, {0, 3}, std::vector<float>{1, -1, 100, 100, 0.5f, 0.25f});
  EXPECT_EQ(batch.gradients, (std::vector<float>{1.5f, -0.75f, 2, -2, 0.5f, 0.25f}));
  layer.embedding.Backward(1, {0, 3}, std::vector<float>{1, 2, 4});
  EXPECT_EQ(layer.rows()[1].gradients, (std::vector<float>{7}));
}

TEST(EmbeddingLayer, PiecesOfABatchAddUp) {
  Layer layer({Table(0, 10, 1)});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 2, 3, 5}, {1, 2, 2, 1, 3})}));
  layer.rows()[0].values = {10, 20, 30};
  layer.embedding.RowsArrived();
  std::vector<float> out(2);
  layer.embedding.Forward(0, {0, 2}, out);
  EXPECT_EQ(out, (std::vector<float>{30, 20}));
  layer.embedding.Backward(0, {0, 2}, std::vector<float>{1, 2});
  out.resize(1);
  layer.embedding.Forward(0, {2, 1}, out);
  EXPECT_EQ(out, std::vector<float>{40});
  layer.embedding.Backward(0, {2, 1}, std::vector<float>{4});
  EXPECT_EQ(layer.rows()[0].gradients, (std::vector<float>{5, 3, 4}));
}

TEST(EmbeddingLayer, TheNextBatchRemembersNothing) {
  Layer layer({Table(0, 10, 1)});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 2}, {3, 4})}));
  layer.rows()[0].values = {1, 2};
  layer.embedding.RowsArrived();
  layer.Forward(0, 1);
  layer.embedding.Backward(0, {0, 1}, std::vector<float>{8});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 1}, {4})}));
  EXPECT_EQ(layer.rows()[0].rows, std::vector<RowId>{RowId{4}});
  EXPECT_EQ(layer.rows()[0].values.size(), 1u);
  layer.embedding.RowsArrived();
  layer.Forward(0, 1);
  layer.embedding.Backward(0, {0, 1}, std::vector<float>{0.5f});
  EXPECT_EQ(layer.rows()[0].gradients, std::vector<float>{0.5f});
}

TEST(EmbeddingLayer, ABatchOfNoSamplesHasNoRows) {
  Layer layer({Table(0, 10, 4)});
  ASSERT_OK(layer.embedding.Prepare({Bags()}));
  EXPECT_TRUE(layer.rows()[0].rows.empty());
  layer.embedding.RowsArrived();
  layer.Forward(0, 0);
  layer.embedding.Backward(0, {0, 0}, {});
  EXPECT_TRUE(layer.rows()[0].gradients.empty());
}

TEST(EmbeddingLayer, AnIdOutsideItsTableIsNamedWithTableAndSample) {
  Layer layer({Table(0, 10, 2), Table(1, 5, 2)});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 1, 2}, {1, 2}), MakeBags({0, 1, 2}, {1, 2})}));
  const Status status =
      layer.embedding.Prepare({MakeBags({0, 0, 0, 0}, {}), MakeBags({0, 2, 2, 3}, {0, 4, 5})});
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(),
              HasSubstr("table \"table1\", sample 2 of the batch: id 5 is outside"));
  EXPECT_EQ(layer.rows()[0].rows.size(), 2u) << "changed although the call failed";
}

TEST(EmbeddingLayer, BadIdsMayWrapAroundOrBeLeftOut) {
  LogicalTable wraps = Table(0, 4, 1), skips = Table(1, 4, 1);
  wraps.bad_ids = "modulo";
  skips.bad_ids = "padding";
  skips.pooling = "mean";
  Layer layer({wraps, skips});
  ASSERT_OK(layer.embedding.Prepare(
      {MakeBags({0, 2, 3}, {1, 5, UINT64_MAX}), MakeBags({0, 3, 4}, {1, 5, 2, 9})}));
  EXPECT_EQ(layer.rows()[0].rows, (std::vector<RowId>{RowId{1}, RowId{3}}));
  EXPECT_EQ(layer.rows()[0].counts, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(layer.rows()[1].rows, (std::vector<RowId>{RowId{1}, RowId{2}}));
  layer.rows()[0].values = {1, 10};
  layer.rows()[1].values = {2, 4};
  layer.embedding.RowsArrived();
  EXPECT_EQ(layer.Forward(0, 2), (std::vector<float>{2, 10}));
  EXPECT_EQ(layer.Forward(1, 2), (std::vector<float>{3, 0})) << "a mean of the two that count";
}

TEST(EmbeddingLayer, PaddingIsNoMember) {
  LogicalTable table = Table(0, 4, 1);
  table.padding_id = 2;
  table.pooling = "mean";
  Layer layer({table});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 3, 4}, {1, 2, 3, 2})}));
  EXPECT_EQ(layer.rows()[0].rows, (std::vector<RowId>{RowId{1}, RowId{3}}));
  layer.rows()[0].values = {2, 4};
  layer.embedding.RowsArrived();
  EXPECT_EQ(layer.Forward(0, 2), (std::vector<float>{3, 0}));
  layer.embedding.Backward(0, {0, 2}, std::vector<float>{1, 8});
  EXPECT_EQ(layer.rows()[0].gradients, (std::vector<float>{0.5f, 0.5f}));
}

TEST(EmbeddingLayer, FeaturesThatShareATableAddUpInIt) {
  LogicalTable a = Table(0, 10, 1), b = Table(1, 10, 1);
  a.kind_options = b.kind_options = {{"share", "both"}};
  Layer layer({a, b});
  ASSERT_EQ(layer.rows().size(), 1u);
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 1}, {3}), MakeBags({0, 2}, {3, 4})}));
  EXPECT_EQ(layer.rows()[0].counts, (std::vector<uint32_t>{2, 1}));
  layer.rows()[0].values = {1, 2};
  layer.embedding.RowsArrived();
  EXPECT_EQ(layer.Forward(0, 1), std::vector<float>{1});
  EXPECT_EQ(layer.Forward(1, 1), std::vector<float>{3});
  layer.embedding.Backward(0, {0, 1}, std::vector<float>{1});
  layer.embedding.Backward(1, {0, 1}, std::vector<float>{10});
  EXPECT_EQ(layer.rows()[0].gradients, (std::vector<float>{11, 10}));
}

TEST(EmbeddingLayer, LearnedWeightsAreRowsOfWidthOne) {
  LogicalTable table = Table(0, 10, 2);
  table.weighted_pooling = "learned";
  Layer layer({table});
  ASSERT_EQ(layer.rows().size(), 2u);
  EXPECT_EQ(layer.rows()[1].dim, 1u);
  Bags bags = MakeBags({0, 2, 3}, {7, 2, 7});
  bags.weights = {1, 3, 0.5f};
  ASSERT_OK(layer.embedding.Prepare({bags}));
  layer.rows()[0].values = {1, 10, 2, 20};  // of ids 2 and 7
  layer.rows()[1].values = {2, 4};
  layer.embedding.RowsArrived();
  // Sample 0: 1*4*(2,20) + 3*2*(1,10); sample 1: 0.5*4*(2,20).
  EXPECT_EQ(layer.Forward(0, 2), (std::vector<float>{14, 140, 4, 40}));
  layer.embedding.Backward(0, {0, 2}, std::vector<float>{1, 0, 0, 1});
  EXPECT_EQ(layer.rows()[0].gradients, (std::vector<float>{6, 0, 4, 2}));
  // <row, g> times the sample's weight: id 2: 3*1; id 7: 1*2 + 0.5*20.
  EXPECT_EQ(layer.rows()[1].gradients, (std::vector<float>{3, 12}));
}

TEST(EmbeddingLayer, WeightsOfTheDataNeedSums) {
  LogicalTable table = Table(0, 10, 2);
  table.pooling = "max";
  Layer layer({table});
  Bags bags = MakeBags({0, 1}, {7});
  bags.weights = {1};
  EXPECT_THAT(layer.embedding.Prepare({bags}).message(), HasSubstr("need pooling=sum"));
}

TEST(EmbeddingLayer, AFrozenTableIsReadOnly) {
  LogicalTable table = Table(0, 10, 4);
  table.kind = "block";
  table.kind_options = {{"block_dim", "2"}};
  table.freeze = true;
  Layer layer({table});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 1}, {3})}));
  EXPECT_FALSE(layer.rows()[0].trains);
  layer.rows()[0].values = {1, 2};
  layer.embedding.RowsArrived();
  layer.Forward(0, 1);
  layer.embedding.Backward(0, {0, 1}, std::vector<float>{1, 1, 1, 1});
  EXPECT_TRUE(layer.rows()[0].gradients.empty());
  for (const float gradient : layer.dense.gradients()) EXPECT_EQ(gradient, 0.0f);
}

TEST(EmbeddingLayer, LongRowsAreShortenedBeforeTheyAreUsed) {
  LogicalTable table = Table(0, 10, 2);
  table.max_norm = 1.0;
  Layer layer({table});
  ASSERT_OK(layer.embedding.Prepare({MakeBags({0, 2}, {3, 5})}));
  layer.rows()[0].values = {3, 4, 0.3f, 0.4f};
  layer.embedding.RowsArrived();
  const std::vector<float> out = layer.Forward(0, 1);
  EXPECT_NEAR(out[0], 0.9, 1e-6);
  EXPECT_NEAR(out[1], 1.2, 1e-6);
}

}  // namespace
}  // namespace rowhouse
