#include <cmath>

#include "tests/testing/testing.h"
#include "worker/dense/dense_initialiser.h"

namespace rowhouse {
namespace {

constexpr uint32_t kXavierRows = 300, kColumns = 200;

std::vector<float> Normal(uint64_t seed, std::string_view name) {
  std::vector<float> values(kXavierRows * kColumns);
  FillXavierNormal(seed, name, kXavierRows, kColumns, values);
  return values;
}

std::vector<float> Uniform(uint64_t seed, std::string_view name) {
  std::vector<float> values(kXavierRows * kColumns);
  FillXavierUniform(seed, name, kXavierRows, kColumns, values);
  return values;
}

double PowerMean(const std::vector<float>& values, int power) {
  double sum = 0.0;
  for (const float value : values) sum += std::pow(double{value}, power);
  return sum / static_cast<double>(values.size());
}

// 60,000 values: the standard error of a mean is 1/245 of the deviation, that of a mean square
// 1/173 of it (normal), so five of each is rare in a lifetime, and the seed is fixed.
TEST(Xavier, NormalHasItsMoments) {
  const double variance = 2.0 / (kXavierRows + kColumns);
  const std::vector<float> values = Normal(123, "crossnet.W_kernels.0");
  EXPECT_NEAR(PowerMean(values, 1), 0.0, 5 * std::sqrt(variance) / 245);
  EXPECT_NEAR(PowerMean(values, 2), variance, 5 * variance / 173);
  EXPECT_NEAR(PowerMean(values, 4), 3 * variance * variance, 0.1 * 3 * variance * variance);
}

TEST(Xavier, UniformFillsItsBounds) {
  const float bound = std::sqrt(6.0f / (kXavierRows + kColumns));
  const std::vector<float> values = Uniform(123, "proj.3");
  const auto [least, most] = std::ranges::minmax(values);
  EXPECT_GE(least, -bound);
  EXPECT_LE(most, bound);
  EXPECT_LT(least, -0.999f * bound);
  EXPECT_GT(most, 0.999f * bound);
  EXPECT_NEAR(PowerMean(values, 2), bound * bound / 3, 0.03 * bound * bound / 3);
}

TEST(Xavier, SeedAndNameDecideAndNothingElse) {
  EXPECT_EQ(Normal(1, "a"), Normal(1, "a"));
  EXPECT_NE(Normal(1, "a"), Normal(2, "a"));
  EXPECT_NE(Normal(1, "a"), Normal(1, "b"));
  EXPECT_EQ(Uniform(1, "a"), Uniform(1, "a"));
  EXPECT_NE(Uniform(1, "a"), Uniform(1, "b"));
}

// From a second implementation, in Python.
TEST(Xavier, ValuesStayWhatTheyWere) {
  std::vector<float> values(4);
  FillXavierNormal(123, "crossnet.W_kernels.0", 2, 2, values);
  EXPECT_THAT(values, testing::ElementsAre(0.853473902f, 1.03185773f, -0.705488443f, 1.04973054f));
  FillXavierUniform(123, "crossnet.W_kernels.0", 2, 2, values);
  EXPECT_THAT(values, testing::ElementsAre(-0.310368448f, -1.0158f, -0.382644981f, 1.20405042f));
}

TEST(FillInitialValues, GoesByBlock) {
  DenseParameters dense;
  dense.Add("zero", 2, 3);
  dense.Add("normal", 2, 3, InitialValues::kXavierNormal);
  dense.Add("uniform", 2, 3, InitialValues::kXavierUniform);
  dense.Allocate();
  std::ranges::fill(dense.values(), 9.0f);
  FillInitialValues(5, &dense);

  std::vector<float> want(6);
  EXPECT_THAT(dense.values(0), testing::Each(0.0f));
  FillXavierNormal(5, "normal", 2, 3, want);
  EXPECT_THAT(dense.values(1), testing::ElementsAreArray(want));
  FillXavierUniform(5, "uniform", 2, 3, want);
  EXPECT_THAT(dense.values(2), testing::ElementsAreArray(want));
}

}  // namespace
}  // namespace rowhouse
