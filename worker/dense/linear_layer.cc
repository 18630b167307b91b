#include "worker/dense/linear_layer.h"

#include <glog/logging.h>

#include <utility>

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
  constexpr size_t kRows = 8;  // a column's sum is read and written once for so many
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

ConstMatrix LinearLayer::Operand(const float* values, int64_t rows, int64_t columns,
                                 std::vector<uint16_t>* halves) const {
  if (products_->precision() == ElementType::kF32) return MatrixOf(values, rows, columns);
  halves->resize(static_cast<size_t>(rows * columns));
  RoundToNearestBf16({values, halves->size()}, *halves);
  return MatrixOf(std::as_const(*halves).data(), rows, columns);
}

void LinearLayer::Forward(const float* x, size_t samples, float* y) {
  if (products_->precision() == ElementType::kS8) {
    if (int8_ == nullptr) {
      const std::span<const float> bias =
          bias_block_ ? parameters_->values(*bias_block_) : std::span<const float>();
      int8_ = std::make_unique<Int8Layer>(parameters_->values(weight_block_), bias, out_);
    }
    int8_->Forward(x, samples, activation_ == Activation::kRelu, products_, y);
    return;
  }
  const auto rows = static_cast<int64_t>(samples);
  x_ = Operand(x, rows, in_, &half_x_);
  weights_ = Operand(parameters_->values(weight_block_).data(), out_, in_, &half_weights_);
  products_->Multiply(x_, weights_, MatrixOf(y, rows, out_),
                      {.b_transposed = true,
                       .bias = bias_block_ ? parameters_->values(*bias_block_).data() : nullptr,
                       .relu = activation_ == Activation::kRelu});
}

void LinearLayer::Backward(const float* y, float* dy, float* dx) {
  CHECK(int8_ == nullptr) << "layers of 8-bit integers do not learn";
  const auto samples = static_cast<size_t>(x_.rows);
  if (bias_block_) {
    MaskAndSum(activation_ == Activation::kRelu, y, samples, out_, dy,
               parameters_->gradients(*bias_block_).data());
  }
  const ConstMatrix delta = Operand(dy, x_.rows, out_, &half_dy_);
  products_->Multiply(delta, x_, MatrixOf(parameters_->gradients(weight_block_).data(), out_, in_),
                      {.a_transposed = true});
  if (dx != nullptr) products_->Multiply(delta, weights_, MatrixOf(dx, x_.rows, in_));
}

}  // namespace rowhouse
