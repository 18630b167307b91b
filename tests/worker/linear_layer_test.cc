// A layer in bf16 is the layer in f32 of rounded operands.
#include "worker/dense/linear_layer.h"

#include <memory>
#include <vector>

#include "common/kernels/half_precision.h"
#include "tests/testing/testing.h"
#include "tests/worker/normal_values.h"

namespace rowhouse {
namespace {

constexpr uint32_t kIn = 40, kOut = 24;
constexpr size_t kSamples = 19;

std::vector<float> Rounded(const std::vector<float>& values) {
  std::vector<uint16_t> halves(values.size());
  std::vector<float> rounded(values.size());
  RoundToNearestBf16(values, halves);
  WidenBf16(halves, rounded);
  return rounded;
}

struct Passes {
  std::vector<float> y, dy, dx, dweights, dbias;
};

// `rounds`: operands are rounded before the layer sees them.
Passes RunLayer(ElementType precision, bool rounds) {
  const auto maybe = [rounds](const std::vector<float>& v) { return rounds ? Rounded(v) : v; };
  MatrixProducts products(precision);
  DenseParameters dense;
  LinearLayer layer({.in = kIn,
                     .out = kOut,
                     .activation = Activation::kRelu,
                     .weight_name = "w",
                     .bias_name = "b"},
                    &dense, &products);
  dense.Allocate();
  std::ranges::copy(maybe(NormalValues(kIn * kOut, 1)), dense.values(layer.weight_block()).begin());
  std::ranges::copy(NormalValues(kOut, 2), dense.values(layer.bias_block()).begin());
  const std::vector<float> x = maybe(NormalValues(kSamples * kIn, 3));
  Passes passes = {.y = std::vector<float>(kSamples * kOut),
                   .dy = maybe(NormalValues(kSamples * kOut, 4)),
                   .dx = std::vector<float>(kSamples * kIn)};
  layer.Forward(x.data(), kSamples, passes.y.data());
  layer.Backward(passes.y.data(), passes.dy.data(), passes.dx.data());
  const auto copy = [&](size_t block) {
    return std::vector<float>(dense.gradients(block).begin(), dense.gradients(block).end());
  };
  passes.dweights = copy(layer.weight_block());
  passes.dbias = copy(layer.bias_block());
  return passes;
}

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4) << i;
}

TEST(LinearLayer, InBf16ItsOperandsAreRoundedAndItsSumsAreNot) {
  if (!HasProductsOf(ElementType::kBf16)) GTEST_SKIP() << "no AVX-512 here";
  const Passes bf16 = RunLayer(ElementType::kBf16, /*rounds=*/false);
  const Passes f32 = RunLayer(ElementType::kF32, /*rounds=*/true);
  ExpectClose(bf16.y, f32.y);
  ExpectClose(bf16.dx, f32.dx);
  ExpectClose(bf16.dweights, f32.dweights);
  const Passes exact = RunLayer(ElementType::kF32, /*rounds=*/false);
  EXPECT_NE(bf16.y, exact.y);
  EXPECT_EQ(bf16.dbias, exact.dbias) << "the bias has no product";
}

// Sums of many samples are made in blocks of rows, in the order of the samples all the same.
TEST(LinearLayer, TheGradientOfTheBiasIsSummedInTheOrderOfSamples) {
  const Passes passes = RunLayer(ElementType::kF32, /*rounds=*/false);
  for (size_t c = 0; c < kOut; ++c) {
    float sum = passes.dy[c];
    for (size_t s = 1; s < kSamples; ++s) sum += passes.dy[s * kOut + c];
    EXPECT_EQ(passes.dbias[c], sum) << c;
    for (size_t s = 0; s < kSamples; ++s) {
      if (passes.y[s * kOut + c] <= 0.0f) {
        EXPECT_EQ(passes.dy[s * kOut + c], 0.0f);
      }
    }
  }
}

}  // namespace
}  // namespace rowhouse
