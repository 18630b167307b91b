#include "launch/report/debug_print.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

std::string Floats(uint64_t rows, uint64_t columns, const std::vector<double>& values,
                   const ArrayStyle& style = kNumpyStyle) {
  return ArrayText({.rows = rows, .columns = columns}, style, 3,
                   [&](uint64_t row, uint64_t column) { return values[row * columns + column]; });
}

TEST(ArrayText, PadsToTheWidest) {
  EXPECT_EQ(Floats(2, 2, {0.5, -12.25, 3, 0}), "[[  0.500 -12.250]\n [  3.000   0.000]]");
  EXPECT_EQ(Floats(2, 2, {0.5, -12.25, 3, 0}, kTorchStyle),
            "tensor([[  0.500, -12.250],\n        [  3.000,   0.000]])");
}

TEST(ArrayText, HasOneNotationForAll) {
  EXPECT_EQ(Floats(1, 3, {1, 0, -2}), "[[ 1.  0. -2.]]");
  EXPECT_EQ(Floats(1, 2, {0.5, 0.00005}), "[[5.000e-01 5.000e-05]]");
  EXPECT_EQ(Floats(1, 2, {1500.5, 0.5}), "[[1.500e+03 5.000e-01]]");
  EXPECT_EQ(Floats(1, 2, {0.0, 0.0}), "[[0. 0.]]");
}

TEST(ArrayText, ShowsTheEdgesOfLongArraysAndAsksForNoMore) {
  const ArrayShape shape{.rows = uint64_t{1} << 40, .columns = 2};
  EXPECT_THAT(ShownRows(shape),
              ElementsAre(0, 1, 2, UINT64_MAX, shape.rows - 3, shape.rows - 2, shape.rows - 1));
  EXPECT_EQ(WholeArrayText(shape, kNumpyStyle,
                           [&](uint64_t row, uint64_t column) {
                             EXPECT_TRUE(row < 3 || row >= shape.rows - 3) << row;
                             return row < 3 ? row : 10 * (shape.rows - row) + column;
                           }),
            "[[ 0  0]\n [ 1  1]\n [ 2  2]\n ...\n [30 31]\n [20 21]\n [10 11]]");
  const ArrayShape wide{.rows = 1, .columns = 1001, .is_vector = true};
  EXPECT_EQ(WholeArrayText(wide, kTorchStyle, [](uint64_t, uint64_t column) { return column; }),
            "tensor([   0,    1,    2, ...,  998,  999, 1000])");
  EXPECT_EQ(ShownRows({.rows = 500, .columns = 2}).size(), 500u);
}

TEST(ModelArchText, IsDlrms) {
  Settings settings;
  settings.Complete();
  EXPECT_EQ(ModelArchText(settings),
            "model arch:\n"
            "mlp top arch 3 layers, with input to output dimensions:\n"
            "[8 4 2 1]\n"
            "# of interactions\n"
            "8\n"
            "mlp bot arch 2 layers, with input to output dimensions:\n"
            "[4 3 2]\n"
            "# of features (sparse and dense)\n"
            "4\n"
            "dense feature size\n"
            "4\n"
            "sparse feature size\n"
            "2\n"
            "# of embeddings (= # of sparse features) 3, with dimensions 2x:\n"
            "[4 3 2]\n");
}

TEST(BatchText, IsDlrms) {
  Batch batch;
  batch.Clear(2, 2);
  batch.samples = 2;
  batch.dense = {0.25f, 0.5f, 0.75f, 0.125f};
  batch.labels = {1.0f, 0.0f};
  batch.features[0].ids = {3, 12};
  batch.features[0].offsets = {0, 2, 2};
  batch.features[1].offsets = {0, 0, 0};
  EXPECT_EQ(BatchText(7, batch),
            "mini-batch: 7\n"
            "tensor([[0.2500, 0.5000],\n"
            "        [0.7500, 0.1250]])\n"
            "tensor([[2, 0],\n"
            "        [0, 0]], dtype=torch.int32)\n"
            "[tensor([ 3, 12]), tensor([])]\n"
            "tensor([[1.],\n"
            "        [0.]])\n");
}

}  // namespace
}  // namespace rowhouse
