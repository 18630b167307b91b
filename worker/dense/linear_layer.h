// LinearLayer: y = x W^T + b, then ReLU or nothing; forward and backward for one sample block.
//
// W is out x in, row-major, followed by b (out): the layer's slice of the model's flat arrays.
// Exactness: products as in matrix_product.h; the bias gradient is summed in sample order by us.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/dense/matrix_product.h"

namespace rowhouse {

enum class Activation { kNone, kRelu };

class LinearLayer {
 public:
  // `products` outlives the layer.
  LinearLayer(uint32_t in, uint32_t out, Activation activation, MatrixProducts* products)
      : in_(in), out_(out), activation_(activation), products_(products) {}

  uint32_t in() const { return in_; }
  uint32_t out() const { return out_; }
  size_t parameter_count() const { return size_t{out_} * in_ + out_; }

  // x: samples x in; y: samples x out, overwritten. Requires samples >= 1, here and below.
  void Forward(const float* parameters, const float* x, size_t samples, float* y) const;

  // dy: gradient of y, changed in place to the gradient before the activation. Overwrites
  // gradients (laid out as the parameters) and, unless null, dx (samples x in). x and y are those
  // of the forward pass.
  void Backward(const float* parameters, const float* x, const float* y, size_t samples, float* dy,
                float* gradients, float* dx) const;

 private:
  const uint32_t in_;
  const uint32_t out_;
  const Activation activation_;
  MatrixProducts* const products_;
};

}  // namespace rowhouse
