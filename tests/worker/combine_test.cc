#include "tests/testing/testing.h"
#include "worker/embedding/branch.h"

namespace rowhouse {
namespace {

using Vectors = std::vector<std::vector<float>>;

// Three parts of two vectors of two floats.
const Vectors kParts = {{1, 2, 3, 4}, {10, 20, 30, 40}, {2, 3, 5, 7}};

std::vector<float> Combined(Combine combine, size_t width) {
  std::vector<float> out(2 * width, -1.0f);
  CombineVectors(combine, kParts, 2, 2, out);
  return out;
}

std::vector<float> Split(Combine combine, size_t part, const std::vector<float>& gradient) {
  std::vector<float> out(4, -1.0f);
  SplitGradient(combine, kParts, part, gradient, 2, 2, out);
  return out;
}

TEST(Combine, SumsMultipliesOrConcatenatesEachVector) {
  EXPECT_EQ(Combined(Combine::kSum, 2), (std::vector<float>{13, 25, 38, 51}));
  EXPECT_EQ(Combined(Combine::kProduct, 2), (std::vector<float>{20, 120, 450, 1120}));
  EXPECT_EQ(Combined(Combine::kConcat, 6),
            (std::vector<float>{1, 2, 10, 20, 2, 3, 3, 4, 30, 40, 5, 7}));
}

TEST(Combine, APartsGradientIsThatOfItsShare) {
  const std::vector<float> gradient = {1, -1, 2, 0.5f};
  for (size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(Split(Combine::kSum, part, gradient), gradient);
  }
  // Times the product of the others.
  EXPECT_EQ(Split(Combine::kProduct, 0, gradient), (std::vector<float>{20, -60, 300, 140}));
  EXPECT_EQ(Split(Combine::kProduct, 1, gradient), (std::vector<float>{2, -6, 30, 14}));
  EXPECT_EQ(Split(Combine::kConcat, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            (std::vector<float>{3, 4, 9, 10}));
}

TEST(Combine, NoVectorsAreFine) {
  const Vectors none(2);
  CombineVectors(Combine::kProduct, none, 0, 3, {});
  SplitGradient(Combine::kProduct, none, 1, {}, 0, 3, {});
}

}  // namespace
}  // namespace rowhouse
