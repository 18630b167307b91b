#include "worker/dense/int8_layer.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/kernels/target_clones.h"

namespace rowhouse {
namespace {

constexpr size_t kLanes = 16;
constexpr float kMaxInput = 127.0f, kMaxWeight = 127.0f;

// Adding it to a float of less than 2^22 rounds that to the nearest whole number, ties to even,
// which the low bits of the sum then are.
constexpr float kRounder = 0x1.8p23f;

// Of a vector, so that it stays in a register.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

// values[0..count), and `rest` in the lanes behind them.
ROWHOUSE_KERNEL_BODY void Load(const float* values, size_t count, float rest, Lanes* loaded) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = rest;
  std::memcpy(lanes, values, count * sizeof(float));
  std::memcpy(loaded, lanes, sizeof(*loaded));
}

// The least, the greatest and the sum of the lanes of three vectors, in halves.
ROWHOUSE_KERNEL_BODY void Reduce(const Lanes& low, const Lanes& high, const Lanes& sum,
                                 float* least, float* greatest, float* total) {
  float lows[kLanes], highs[kLanes], sums[kLanes];
  std::memcpy(lows, &low, sizeof(lows));
  std::memcpy(highs, &high, sizeof(highs));
  std::memcpy(sums, &sum, sizeof(sums));
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lows[i] = lows[i + half] < lows[i] ? lows[i + half] : lows[i];
      highs[i] = highs[i + half] > highs[i] ? highs[i + half] : highs[i];
      sums[i] += sums[i + half];
    }
  }
  *least = lows[0];
  *greatest = highs[0];
  *total = sums[0];
}

ROWHOUSE_TARGET_CLONES
void QuantiseInput(const float* __restrict x, size_t n, float* __restrict low,
                   float* __restrict step, uint8_t* __restrict q) {
  // A minimum and a maximum a lane. NaN is neither less nor greater, so it is kept apart.
  const size_t whole = n / kLanes * kLanes;
  Lanes values;
  Load(x + whole, n - whole, x[0], &values);                    // the first counts once more
  Lanes least = values, most = values, poison = values * 0.0f;  // NaN for NaN and infinity
  for (size_t begin = 0; begin < whole; begin += kLanes) {
    std::memcpy(&values, x + begin, sizeof(values));
    least = values < least ? values : least;
    most = values > most ? values : most;
    poison += values * 0.0f;
  }
  float minimum, maximum, bad;
  Reduce(least, most, poison, &minimum, &maximum, &bad);
  *low = minimum + bad;
  *step = 0.0f;
  const float range = maximum - minimum;
  const float inverse = kMaxInput / range;
  // Inputs that are not finite, that are equal, or so nearly that the inverse is infinite.
  if (!(bad == 0.0f) || !(range > 0.0f) || !std::isfinite(range) || !std::isfinite(inverse)) {
    if (!std::isfinite(range)) *low = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(q, n, uint8_t{0});
    return;
  }
  *step = range / kMaxInput;
  for (size_t i = 0; i < n; ++i) {
    const float rounded = (x[i] - minimum) * inverse + kRounder;
    q[i] = static_cast<uint8_t>(static_cast<int32_t>(rounded - kRounder));
  }
}

ROWHOUSE_TARGET_CLONES
void Finish(const int32_t* __restrict sums, const float* __restrict weight_scale,
            const float* __restrict weight_sum, const float* __restrict bias, size_t n, float low,
            float step, bool relu, float* __restrict y) {
  if (relu) {
    for (size_t i = 0; i < n; ++i) {
      const float value =
          bias[i] + weight_scale[i] * (step * static_cast<float>(sums[i]) + low * weight_sum[i]);
      y[i] = value < 0.0f ? 0.0f : value;  // NaN stays
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      y[i] = bias[i] + weight_scale[i] * (step * static_cast<float>(sums[i]) + low * weight_sum[i]);
    }
  }
}

}  // namespace

Int8Layer::Int8Layer(std::span<const float> weights, std::span<const float> bias, uint32_t out)
    : in_(weights.size() / out),
      out_(out),
      weights_(weights.size()),
      weight_scale_(out),
      weight_sum_(out),
      bias_(out) {
  CHECK_EQ(in_ * out_, weights.size());
  CHECK(bias.empty() || bias.size() == out_);
  std::ranges::copy(bias, bias_.begin());
  for (size_t o = 0; o < out_; ++o) {
    const std::span<const float> row = weights.subspan(o * in_, in_);
    float most = 0.0f, bad = 0.0f;
    for (const float weight : row) {
      most = std::max(most, std::abs(weight));
      bad += weight * 0.0f;  // NaN for NaN and infinity
    }
    const float scale = bad == 0.0f ? most / kMaxWeight : 0.0f;
    weight_scale_[o] = scale + bad;
    int64_t sum = 0;
    for (size_t i = 0; i < in_; ++i) {
      const float q = scale > 0.0f ? std::nearbyint(row[i] / scale) : 0.0f;
      weights_[o * in_ + i] = static_cast<int8_t>(std::clamp(q, -kMaxWeight, kMaxWeight));
      sum += weights_[o * in_ + i];
    }
    weight_sum_[o] = static_cast<float>(sum);
  }
}

void Int8Layer::Forward(const float* x, size_t samples, bool relu, MatrixProducts* products,
                        float* y) {
  x_.resize(samples * in_);
  low_.resize(samples);
  step_.resize(samples);
  sums_.resize(samples * out_);
  for (size_t s = 0; s < samples; ++s) {
    QuantiseInput(x + s * in_, in_, &low_[s], &step_[s], &x_[s * in_]);
  }
  const auto rows = static_cast<int64_t>(samples), in = static_cast<int64_t>(in_),
             out = static_cast<int64_t>(out_);
  products->Multiply(
      {.values = x_.data(), .type = ElementType::kU8, .rows = rows, .columns = in, .leading = in},
      {.values = weights_.data(),
       .type = ElementType::kS8,
       .rows = out,
       .columns = in,
       .leading = in},
      {.values = sums_.data(),
       .type = ElementType::kS32,
       .rows = rows,
       .columns = out,
       .leading = out},
      {.b_transposed = true, .b_stays = true});
  for (size_t s = 0; s < samples; ++s) {
    Finish(&sums_[s * out_], weight_scale_.data(), weight_sum_.data(), bias_.data(), out_, low_[s],
           step_[s], relu, y + s * out_);
  }
}

}  // namespace rowhouse
