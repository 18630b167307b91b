#include "worker/dense/linear_layer.h"

#include <glog/logging.h>

#include <span>

#include "common/kernels/half_precision.h"
#include "common/kernels/target_clones.h"
#include "worker/dense/column_parts.h"

namespace rowhouse {
namespace {

// Of kRows rows of the gradient dy of a layer's output: where kMasks, zero where y is not positive
// (ReLU lets a gradient through where its output is positive; at zero it does not, as in torch).
// Then sums[c] = ((sums[c] + dy[0][c]) + dy[1][c]) + ..., or without sums[c] where kBegins.
template <bool kMasks, bool kBegins, size_t kRows>
ROWHOUSE_KERNEL_BODY void MaskAndSumRows(const float* __restrict y, size_t columns, size_t leading,
                                         float* __restrict dy, float* __restrict sums) {
#pragma GCC ivdep  // leading >= columns: rows do not overlap
  for (size_t c = 0; c < columns; ++c) {
    float sum = kBegins ? 0.0f : sums[c];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
      float value = dy[r * leading + c];
      if (kMasks) {
        value = y[r * leading + c] > 0.0f ? value : 0.0f;
        dy[r * leading + c] = value;
      }
      sum = kBegins && r == 0 ? value : sum + value;
    }
    sums[c] = sum;
  }
}

// Of all samples. `leading`: floats from the begin of a row to that of the next, >= columns.
template <bool kMasks>
ROWHOUSE_KERNEL_BODY void MaskAndSumAll(const float* __restrict y, size_t samples, size_t columns,
                                        size_t leading, float* __restrict dy,
                                        float* __restrict sums) {
  constexpr size_t kRows = 8;  // a column's sum is read and written once for this many
  MaskAndSumRows<kMasks, true, 1>(y, columns, leading, dy, sums);
  size_t s = 1;
  for (; s + kRows <= samples; s += kRows) {
    MaskAndSumRows<kMasks, false, kRows>(y + s * leading, columns, leading, dy + s * leading, sums);
  }
  for (; s < samples; ++s) {
    MaskAndSumRows<kMasks, false, 1>(y + s * leading, columns, leading, dy + s * leading, sums);
  }
}

ROWHOUSE_TARGET_CLONES
void MaskByReluAndSum(const float* y, size_t samples, size_t columns, size_t leading, float* dy,
                      float* sums) {
  MaskAndSumAll<true>(y, samples, columns, leading, dy, sums);
}

ROWHOUSE_TARGET_CLONES
void Sum(size_t samples, size_t columns, size_t leading, float* dy, float* sums) {
  MaskAndSumAll<false>(dy, samples, columns, leading, dy, sums);
}

void MaskAndSum(bool masks, const float* y, size_t samples, size_t columns, float* dy,
                float* sums) {
  ForColumns(samples, columns, [&](size_t first, size_t some) {
    if (masks) {
      MaskByReluAndSum(y + first, samples, some, columns, dy + first, sums + first);
    } else {
      Sum(samples, some, columns, dy + first, sums + first);
    }
  });
}

}  // namespace

LinearLayer::LinearLayer(const LinearLayerSpec& spec, DenseParameters* parameters,
                         MatrixProducts* products)
    : in_(spec.in),
      out_(spec.out),
      activation_(spec.activation),
      parameters_(parameters),
      products_(products),
      weight_block_(parameters->Add(spec.weight_name, out_, in_, spec.initial_weights)),
      bias_block_(spec.bias_name.empty()
                      ? std::nullopt
                      : std::optional(parameters->Add(spec.bias_name, out_, 1))) {
  CHECK(bias_block_ || activation_ == Activation::kNone);
}

std::span<const float> LinearLayer::Bias() const {
  return bias_block_ ? parameters_->values(*bias_block_) : std::span<float>();
}

ConstMatrix LinearLayer::Operand(const float* values, const PassPart& part, uint32_t columns,
                                 const std::vector<uint16_t>& halves) const {
  const size_t begin = part.first * columns;
  const auto rows = static_cast<int64_t>(part.samples);
  if (products_->precision() == ElementType::kF32) return MatrixOf(values + begin, rows, columns);
  return MatrixOf(halves.data() + begin, rows, columns);
}

void LinearLayer::Round(const float* values, const PassPart& part, uint32_t columns,
                        std::vector<uint16_t>* halves) const {
  if (products_->precision() == ElementType::kF32) return;
  const size_t begin = part.first * columns, count = part.samples * columns;
  RoundToNearestBf16({values + begin, count}, std::span(*halves).subspan(begin, count));
}

void LinearLayer::Begin(size_t samples) {
  samples_ = samples;
  const std::span<const float> weights = parameters_->values(weight_block_);
  if (products_->precision() == ElementType::kS8) {
    if (int8_ == nullptr) int8_ = std::make_unique<Int8Layer>(weights, Bias(), out_);
    return;
  }
  const PassPart all = {.samples = out_};
  if (products_->precision() == ElementType::kBf16) {
    half_x_.resize(samples * in_);
    half_dy_.resize(samples * out_);
    half_weights_.resize(weights.size());
    Round(weights.data(), all, in_, &half_weights_);
  }
  weights_ = Operand(weights.data(), all, in_, half_weights_);
}

void LinearLayer::ForwardPart(const PassPart& part, const float* x, float* y) {
  const bool is_relu = activation_ == Activation::kRelu;
  if (int8_ != nullptr) {
    CHECK_EQ(part.samples, samples_) << "layers of 8-bit integers have no parts";
    int8_->Forward(x, samples_, is_relu, part.products, y);
    return;
  }
  Round(x, part, in_, &half_x_);
  part.products->Multiply(
      Operand(x, part, in_, half_x_), weights_,
      MatrixOf(y + part.first * out_, static_cast<int64_t>(part.samples), out_),
      {.b_transposed = true, .bias = bias_block_ ? Bias().data() : nullptr, .relu = is_relu});
}

void LinearLayer::Forward(const float* x, size_t samples, float* y) {
  x_ = x;
  Begin(samples);
  ForwardPart({.samples = samples, .products = products_}, x, y);
}

void LinearLayer::Backward(const float* y, float* dy, float* dx) {
  BackwardPart({.samples = samples_, .products = products_}, x_, y, dy, dx,
               parameters_->gradients(weight_block_).data(),
               bias_block_ ? parameters_->gradients(*bias_block_).data() : nullptr);
}

void LinearLayer::BackwardPart(const PassPart& part, const float* x, const float* y, float* dy,
                               float* dx, float* dweights, float* dbias) {
  CHECK(int8_ == nullptr) << "layers of 8-bit integers do not learn";
  if (bias_block_) {
    const size_t begin = part.first * out_;
    MaskAndSum(activation_ == Activation::kRelu, y + begin, part.samples, out_, dy + begin, dbias);
  }
  Round(dy, part, out_, &half_dy_);
  const ConstMatrix delta = Operand(dy, part, out_, half_dy_);
  part.products->Multiply(delta, Operand(x, part, in_, half_x_), MatrixOf(dweights, out_, in_),
                          {.a_transposed = true});
  if (dx != nullptr) {
    part.products->Multiply(
        delta, weights_, MatrixOf(dx + part.first * in_, static_cast<int64_t>(part.samples), in_));
  }
}

}  // namespace rowhouse
