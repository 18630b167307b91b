#include "worker/dense/matrix_product.h"

#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

// [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50]
const std::vector<float> kA = {1, 2, 3, 4}, kB = {5, 6, 7, 8};

ConstMatrix Square(const std::vector<float>& values) { return MatrixOf(values.data(), 2, 2); }

TEST(MatrixProducts, TakeOperandsAsTheyLieOrTransposed) {
  MatrixProducts products;
  std::vector<float> c(4);
  const Matrix out = MatrixOf(c.data(), 2, 2);
  products.Multiply(Square(kA), Square(kB), out);
  EXPECT_THAT(c, ElementsAre(19, 22, 43, 50));
  products.Multiply(Square(kA), Square(kB), out, {.a_transposed = true});
  EXPECT_THAT(c, ElementsAre(26, 30, 38, 44));
  products.Multiply(Square(kA), Square(kB), out, {.b_transposed = true});
  EXPECT_THAT(c, ElementsAre(17, 23, 39, 53));
}

TEST(MatrixProducts, AddABiasAndCutOffBelowZero) {
  MatrixProducts products;
  std::vector<float> c(4);
  const std::vector<float> bias = {-20, 1};
  products.Multiply(Square(kA), Square(kB), MatrixOf(c.data(), 2, 2),
                    {.bias = bias.data(), .relu = true});
  EXPECT_THAT(c, ElementsAre(0, 23, 23, 51));
}

TEST(MatrixProducts, RowsMayLieApart) {
  MatrixProducts products;
  const std::vector<float> a = {1, 2, -1, 3, 4, -1};  // rows begin 3 values apart
  std::vector<float> c(8, -9.0f);
  products.Multiply({.values = a.data(), .rows = 2, .columns = 2, .leading = 3}, Square(kB),
                    {.values = c.data(), .rows = 2, .columns = 2, .leading = 4});
  EXPECT_THAT(c, ElementsAre(19, 22, -9, -9, 43, 50, -9, -9));
}

TEST(MatrixProducts, ABatchIsManyProducts) {
  MatrixProducts products;
  const std::vector<float> a = {1, 2, 3, 4};  // two of 1 x 2
  std::vector<float> c(2);
  products.Multiply(MatrixOf(a.data(), 1, 2), MatrixOf(a.data(), 1, 2), MatrixOf(c.data(), 1, 1),
                    {.batch = 2, .b_transposed = true});
  EXPECT_THAT(c, ElementsAre(5, 25));
}

// 257 needs nine bits of precision, and bf16 has eight: the sum is f32, the operands are not.
TEST(MatrixProducts, OperandsOfBf16AreSummedInF32) {
  if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  MatrixProducts products;
  const std::vector<uint16_t> ones(2 * 257, 0x3f80);
  const ConstMatrix a = MatrixOf(ones.data(), 2, 257);
  std::vector<float> c(4);
  products.Multiply(a, a, MatrixOf(c.data(), 2, 2), {.b_transposed = true});
  EXPECT_THAT(c, ElementsAre(257, 257, 257, 257));
  std::vector<float> outer(257 * 257);
  products.Multiply(a, a, MatrixOf(outer.data(), 257, 257), {.a_transposed = true});
  EXPECT_THAT(outer, testing::Each(2.0f));
}

TEST(MatrixProducts, TimeOfBf16IsMeasured) {
  if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  EXPECT_GT(MeasureBf16Time(), 0.0);
}

TEST(MatrixProductsDeathTest, OtherTypesAndShapesAreRefused) {
  MatrixProducts products;
  std::vector<float> c(4);
  ConstMatrix half = Square(kA);
  half.type = ElementType::kBf16;
  EXPECT_DEATH(products.Multiply(half, Square(kB), MatrixOf(c.data(), 2, 2)),
               "types that do not go together");
  EXPECT_DEATH(products.Multiply(MatrixOf(kA.data(), 1, 4), Square(kB), MatrixOf(c.data(), 1, 2)),
               "inner");
}

}  // namespace
}  // namespace rowhouse
