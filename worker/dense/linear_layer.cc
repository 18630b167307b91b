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

LinearLayer::LinearLayer(const LinearLayerSpec& spec, DenseParameters* parameters,
                         MatrixProducts* products)
    : in_(spec.in),
      out_(spec.out),
      activation_(spec.activation),
      parameters_(parameters),
      products_(products),
      weight_block_(parameters->Add(spec.weight_name, out_, in_, spec.initial_weights)),
      bias_block_(parameters->Add(spec.bias_name, out_, 1)) {}

ConstMatrix LinearLayer::weights() const {
  const float* const master = parameters_->values(weight_block_).data();
  return MatrixOf(master, out_, in_);
}

void LinearLayer::Forward(const float* x, size_t samples, float* y) const {
  const auto rows = static_cast<int64_t>(samples);
  products_->Multiply(MatrixOf(x, rows, in_), weights(), MatrixOf(y, rows, out_),
                      {.b_transposed = true,
                       .bias = parameters_->values(bias_block_).data(),
                       .relu = activation_ == Activation::kRelu});
}

void LinearLayer::Backward(const float* x, const float* y, size_t samples, float* dy,
                           float* dx) const {
  const auto rows = static_cast<int64_t>(samples);
  if (activation_ == Activation::kRelu) MaskByRelu(y, samples * out_, dy);
  const ConstMatrix delta = MatrixOf(static_cast<const float*>(dy), rows, out_);
  products_->Multiply(delta, MatrixOf(x, rows, in_),
                      MatrixOf(parameters_->gradients(weight_block_).data(), out_, in_),
                      {.a_transposed = true});
  SumRows(dy, samples, out_, parameters_->gradients(bias_block_).data());
  if (dx != nullptr) products_->Multiply(delta, weights(), MatrixOf(dx, rows, in_));
}

}  // namespace rowhouse
