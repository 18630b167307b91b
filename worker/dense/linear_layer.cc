#include "worker/dense/linear_layer.h"

#include "common/kernels/target_clones.h"

namespace rowhouse {
namespace {

// ReLU lets a gradient through where its output is positive; at zero it does not, as in torch.
ROWHOUSE_TARGET_CLONES
void MaskByRelu(const float* __restrict y, size_t count, float* __restrict dy) {
  for (size_t i = 0; i < count; ++i) dy[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

// sums[c] = ((rows[0][c] + rows[1][c]) + rows[2][c]) + ...
ROWHOUSE_TARGET_CLONES
void SumRows(const float* __restrict rows, size_t count, size_t columns, float* __restrict sums) {
  for (size_t c = 0; c < columns; ++c) sums[c] = rows[c];
  for (size_t r = 1; r < count; ++r) {
    for (size_t c = 0; c < columns; ++c) sums[c] += rows[r * columns + c];
  }
}

}  // namespace

void LinearLayer::Forward(const float* parameters, const float* x, size_t samples, float* y) const {
  const float* bias = parameters + size_t{out_} * in_;
  const ProductShape shape = {.rows = static_cast<int64_t>(samples),
                              .inner = in_,
                              .columns = out_,
                              .b_transposed = true,
                              .bias = true,
                              .relu = activation_ == Activation::kRelu};
  products_->Multiply(shape, x, parameters, bias, y);
}

void LinearLayer::Backward(const float* parameters, const float* x, const float* y, size_t samples,
                           float* dy, float* gradients, float* dx) const {
  const auto rows = static_cast<int64_t>(samples);
  if (activation_ == Activation::kRelu) MaskByRelu(y, samples * out_, dy);
  products_->Multiply({.rows = out_, .inner = rows, .columns = in_, .a_transposed = true}, dy, x,
                      nullptr, gradients);
  SumRows(dy, samples, out_, gradients + size_t{out_} * in_);
  if (dx != nullptr) {
    products_->Multiply({.rows = rows, .inner = out_, .columns = in_}, dy, parameters, nullptr, dx);
  }
}

}  // namespace rowhouse
