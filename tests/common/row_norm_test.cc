// The norm of a row and its renormalisation: against plain loops and libm, and the same bits from
// every instruction set.
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/kernels/reduction_bodies.h"
#include "common/kernels/reductions.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kRowNormNan = std::numeric_limits<float>::quiet_NaN();

// Over many magnitudes, so that a changed order of addition shows.
std::vector<float> RandomRow(std::mt19937* random, size_t columns) {
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-8, 8);
  std::vector<float> row;
  for (size_t c = 0; c < columns; ++c) {
    row.push_back(std::ldexp(normal(*random), exponent(*random)));
  }
  return row;
}

__attribute__((noinline, optimize("no-tree-vectorize"))) double ReferenceSumOfSquares(
    const std::vector<float>& row) {
  double sum = 0.0;
  for (size_t first = 0; first < row.size(); first += 16) {
    std::vector<double> lanes(16, 0.0);
    for (size_t i = 0; i < 16 && first + i < row.size(); ++i) {
      lanes[i] = double{row[first + i]} * double{row[first + i]};
    }
    for (size_t width = 8; width > 0; width /= 2) {
      for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    sum += lanes[0];
  }
  return sum;
}

double LibmNorm(const std::vector<float>& row, double p) {
  double sum = 0.0;
  for (const float weight : row) sum += std::pow(std::fabs(double{weight}), p);
  return std::pow(sum, 1.0 / p);
}

// ---- One instruction set each ---------------------------------------------------------------

struct RowNormBody {
  std::string name;
  bool supported;
  double (*sum_of_squares)(const float*, size_t);
  void (*scale)(float, float*, size_t);
};

#define ROWHOUSE_BODIES_FOR(NAME, TARGET)                                                        \
  struct NAME {                                                                                  \
    TARGET static double SumOfSquares(const float* row, size_t n) {                              \
      return kernel_bodies::WideSumOfSquares(row, n);                                            \
    }                                                                                            \
    TARGET static void Scale(float factor, float* row, size_t n) {                               \
      kernel_bodies::ScaleRow(factor, row, n);                                                   \
    }                                                                                            \
    static RowNormBody All(bool supported) { return {#NAME, supported, &SumOfSquares, &Scale}; } \
  }

ROWHOUSE_BODIES_FOR(RowNormBase, );
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ROWHOUSE_BODIES_FOR(RowNormAvx2, __attribute__((target("avx2,fma"))));
ROWHOUSE_BODIES_FOR(RowNormAvx512, __attribute__((target("avx512f,fma"))));
#endif

std::vector<RowNormBody> AllRowNormBodies() {
  std::vector<RowNormBody> all = {RowNormBase::All(true)};
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  all.push_back(RowNormAvx2::All(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  all.push_back(RowNormAvx512::All(__builtin_cpu_supports("avx512f")));
#endif
  return all;
}

class RowNormBodies : public testing::TestWithParam<RowNormBody> {
 protected:
  void SetUp() override {
    if (!GetParam().supported) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
};

TEST_P(RowNormBodies, HaveTheBitsOfScalarLoopsAndOfWhatIsDispatched) {
  std::mt19937 random(20240811);
  for (size_t n = 0; n <= 200; ++n) {
    const std::vector<float> row = RandomRow(&random, n);
    const double sum = GetParam().sum_of_squares(row.data(), n);
    EXPECT_EQ(std::bit_cast<uint64_t>(sum), std::bit_cast<uint64_t>(ReferenceSumOfSquares(row)));
    EXPECT_EQ(RowNorm(row, 2.0), std::sqrt(sum)) << "size " << n;

    const double norm = std::sqrt(sum);
    std::vector<float> by_body = row, by_hand = row, dispatched = row;
    const auto factor = static_cast<float>(0.75 / (norm + 1e-7));
    GetParam().scale(factor, by_body.data(), n);
    for (float& weight : by_hand) weight *= factor;
    EXPECT_EQ(by_body, by_hand);
    if (RenormaliseRow(0.75, 2.0, dispatched)) {
      EXPECT_EQ(dispatched, by_hand) << "size " << n;
    } else {
      EXPECT_LE(norm, 0.75);
      EXPECT_EQ(dispatched, row);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, RowNormBodies, testing::ValuesIn(AllRowNormBodies()),
                         [](const auto& test) { return test.param.name; });

// ---- Any norm -------------------------------------------------------------------------------

TEST(RowNorm, OfAnyTypeAgreesWithLibm) {
  std::mt19937 random(5);
  for (const double p : {0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.75, 20.0}) {
    for (const size_t n : {1u, 15u, 16u, 17u, 64u, 100u}) {
      const std::vector<float> row = RandomRow(&random, n);
      const double want = LibmNorm(row, p);
      EXPECT_NEAR(RowNorm(row, p), want, 2e-13 * want) << "p " << p << ", size " << n;
    }
  }
}

TEST(RowNorm, HandComputed) {
  const std::vector<float> row = {3.0f, -4.0f, 0.0f, 12.0f};
  EXPECT_EQ(RowNorm(row, 2.0), 13.0);
  EXPECT_EQ(RowNorm(row, 1.0), 19.0);
  EXPECT_EQ(RowNorm(row, kInfinity), 12.0);
  EXPECT_EQ(RowNorm({}, 2.0), 0.0);
  EXPECT_EQ(RowNorm({}, 3.0), 0.0);
  EXPECT_EQ(RowNorm(std::vector<float>(20, 0.0f), 3.0), 0.0);
}

// Written down on one CPU; another one must come to the same.
TEST(RowNorm, TheBitsOfOtherNormsAreTheseOnEveryCpu) {
  std::vector<float> row;
  for (int c = 0; c < 37; ++c) row.push_back(std::ldexp(static_cast<float>(c * c % 17) - 8, -3));
  const std::vector<std::pair<double, double>> want = {{0.5, 0x1.6c5c727655124p+9},
                                                       {2.5, 0x1.92827021cedb6p+1},
                                                       {3.0, 0x1.44b7802b2cd88p+1},
                                                       {1e6, 0x1.000020a5a0eadp+0}};
  for (const auto& [p, norm] : want) EXPECT_EQ(RowNorm(row, p), norm) << "p " << p;
}

TEST(RowNorm, HugeAndTinyWeightsNeitherOverflowNorVanish) {
  for (const float size : {1e38f, 1e-38f, 1e-44f}) {
    const std::vector<float> row(4, size);
    EXPECT_NEAR(RowNorm(row, 2.0) / double{size}, 2.0, 1e-12) << size;
    EXPECT_NEAR(RowNorm(row, 3.0) / double{size}, std::cbrt(4.0), 1e-12) << size;
  }
  EXPECT_EQ(RowNorm(std::vector<float>(64, 1.0f), 1e-3), kInfinity);  // 64^1000
}

TEST(RenormaliseRow, LeavesWhatIsShortEnoughOrNotANumber) {
  std::vector<float> row = {3.0f, 4.0f};
  EXPECT_FALSE(RenormaliseRow(5.0, 2.0, row)) << "a norm of max_norm does not exceed it";
  EXPECT_EQ(row, (std::vector<float>{3.0f, 4.0f}));
  EXPECT_TRUE(RenormaliseRow(2.5, 2.0, row));
  EXPECT_NEAR(row[0], 1.5f, 1e-6f);
  EXPECT_NEAR(row[1], 2.0f, 1e-6f);
  for (const double p : {2.0, 3.0}) {
    std::vector<float> sick = {kRowNormNan, 4.0f};
    EXPECT_FALSE(RenormaliseRow(1.0, p, sick));
    EXPECT_EQ(sick[1], 4.0f);
    EXPECT_TRUE(std::isnan(RowNorm(std::vector<float>{kRowNormNan, kRowNormNan}, p)));
  }
}

}  // namespace
}  // namespace rowhouse
