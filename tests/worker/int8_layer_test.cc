// A layer of 8-bit integers is the layer in f32 of rounded weights and inputs.
#include "worker/dense/int8_layer.h"

#include <cmath>
#include <limits>

#include "tests/testing/testing.h"
#include "tests/worker/normal_values.h"

namespace rowhouse {
namespace {

constexpr size_t kWidth = 77, kChannels = 33, kRowsOfInput = 40;

struct Int8Case {
  std::vector<float> weights = NormalValues(kWidth * kChannels, 1),
                     bias = NormalValues(kChannels, 2), x = NormalValues(kWidth * kRowsOfInput, 3);

  std::vector<float> Forward(size_t first, size_t count, bool relu = false) const {
    MatrixProducts products(ElementType::kS8);
    Int8Layer layer(weights, bias, kChannels);
    std::vector<float> y(count * kChannels);
    layer.Forward(&x[first * kWidth], count, relu, &products, y.data());
    return y;
  }
};

// The formulas of the header, a number after the other.
double ByHand(const Int8Case& c, size_t sample, size_t channel) {
  const float* x = &c.x[sample * kWidth];
  const float* w = &c.weights[channel * kWidth];
  float low = x[0], high = x[0], most = 0.0f;
  for (size_t i = 0; i < kWidth; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    most = std::max(most, std::abs(w[i]));
  }
  const float scale = most / 127.0f, inverse = 127.0f / (high - low);
  double y = c.bias[channel];
  for (size_t i = 0; i < kWidth; ++i) {
    const double q = std::nearbyint((x[i] - low) * inverse);
    y += (low + q * (high - low) / 127.0) * scale * std::nearbyint(w[i] / scale);
  }
  return y;
}

TEST(Int8Layer, IsTheSumOfRoundedProducts) {
  const Int8Case c;
  const std::vector<float> y = c.Forward(0, kRowsOfInput);
  double furthest_from_f32 = 0.0;
  for (size_t s = 0; s < kRowsOfInput; ++s) {
    for (size_t o = 0; o < kChannels; ++o) {
      EXPECT_NEAR(y[s * kChannels + o], ByHand(c, s, o), 2e-4);
      double exact = c.bias[o];
      for (size_t i = 0; i < kWidth; ++i) {
        exact += double{c.x[s * kWidth + i]} * c.weights[o * kWidth + i];
      }
      furthest_from_f32 = std::max(furthest_from_f32, std::abs(exact - y[s * kChannels + o]));
    }
  }
  EXPECT_LT(furthest_from_f32, 0.5);  // of sums of 77 products of normal numbers
  EXPECT_GT(furthest_from_f32, 0.01);
}

TEST(Int8Layer, ASampleDoesNotDependOnThoseBesideIt) {
  const Int8Case c;
  const std::vector<float> all = c.Forward(0, kRowsOfInput);
  for (const size_t sample : {size_t{0}, size_t{17}, kRowsOfInput - 1}) {
    const std::vector<float> alone = c.Forward(sample, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + sample * kChannels));
  }
}

TEST(Int8Layer, ReluIsTheLargerOfZeroAndTheSum) {
  const Int8Case c;
  std::vector<float> y = c.Forward(0, kRowsOfInput);
  for (float& value : y) value = value < 0.0f ? 0.0f : value;
  EXPECT_EQ(c.Forward(0, kRowsOfInput, /*relu=*/true), y);
}

TEST(Int8Layer, EqualInputsAndZeroWeightsAreExact) {
  Int8Case c;
  std::fill_n(c.x.begin(), kWidth, 0.3f);                 // a sample
  std::fill_n(c.weights.begin(), kWidth, 0.0f);           // an output channel
  std::fill_n(c.weights.begin() + kWidth, kWidth, 2.0f);  // another
  const std::vector<float> y = c.Forward(0, kRowsOfInput);
  EXPECT_FLOAT_EQ(y[1], c.bias[1] + 0.3f * 2.0f * kWidth);
  for (size_t s = 0; s < kRowsOfInput; ++s) EXPECT_EQ(y[s * kChannels], c.bias[0]);
}

TEST(Int8Layer, AnInputThatIsNotFiniteIsNotHidden) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const size_t place : {size_t{0}, size_t{40}, kWidth - 1}) {
      Int8Case c;
      c.x[place] = bad;
      for (const bool relu : {false, true}) {
        const std::vector<float> y = c.Forward(0, 2, relu);
        for (size_t o = 0; o < kChannels; ++o) {
          EXPECT_TRUE(std::isnan(y[o]));
          EXPECT_TRUE(std::isfinite(y[kChannels + o]));
        }
      }
    }
  }
}

TEST(Int8Layer, AWeightThatIsNotFiniteIsNotHidden) {
  for (const float bad : {-std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Int8Case c;
    c.weights[kWidth + 5] = bad;
    const std::vector<float> y = c.Forward(0, kRowsOfInput);
    for (size_t s = 0; s < kRowsOfInput; ++s) {
      EXPECT_TRUE(std::isfinite(y[s * kChannels]));
      EXPECT_TRUE(std::isnan(y[s * kChannels + 1]));
    }
  }
}

// Two layers of one MatrixProducts have weights at two addresses.
TEST(Int8Layer, LayersOfOneShapeKeepTheirOwnWeights) {
  const std::vector<float> x = NormalValues(kChannels, 5);
  MatrixProducts products(ElementType::kS8), alone(ElementType::kS8);
  Int8Layer first(NormalValues(kChannels * kChannels, 6), {}, kChannels);
  const std::vector<float> weights = NormalValues(kChannels * kChannels, 7);
  Int8Layer second(weights, {}, kChannels), again(weights, {}, kChannels);
  std::vector<float> y(kChannels), due(kChannels);
  first.Forward(x.data(), 1, false, &products, y.data());
  second.Forward(x.data(), 1, false, &products, y.data());
  again.Forward(x.data(), 1, false, &alone, due.data());
  EXPECT_EQ(y, due);
}

}  // namespace
}  // namespace rowhouse
