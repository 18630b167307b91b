// LinearLayer: y = x W^T + b, then ReLU or nothing; forward and backward for one sample block.
//
// The layer decides layout and type of its weights. The parameters that are trained are f32, in two
// blocks of the model's DenseParameters: W (out x in, row-major), then b (out). Products take
// weights(), which is W itself. To compute with packed or bf16 weights, weights() would return a
// copy of W in that form; no other code would have to change.
// Exactness: products as in matrix_product.h; the bias gradient is summed in sample order by us.
// Threads:   one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "worker/dense/dense_parameters.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {

enum class Activation { kNone, kRelu };

struct LinearLayerSpec {
  uint32_t in = 0, out = 0;  // floats of a sample, each >= 1
  Activation activation = Activation::kNone;
  std::string weight_name, bias_name;  // of the blocks
  InitialValues initial_weights = InitialValues::kZero;
};

class LinearLayer {
 public:
  // Adds the blocks to `parameters`, which is allocated before the first Forward. Both outlive the
  // layer.
  LinearLayer(const LinearLayerSpec& spec, DenseParameters* parameters, MatrixProducts* products);

  uint32_t in() const { return in_; }
  uint32_t out() const { return out_; }
  size_t weight_block() const { return weight_block_; }  // numbers in DenseParameters
  size_t bias_block() const { return bias_block_; }

  // x: samples x in; y: samples x out, overwritten. Requires samples >= 1, here and below.
  void Forward(const float* x, size_t samples, float* y) const;

  // dy: gradient of y, changed in place to the gradient before the activation. Overwrites the
  // gradients of the layer's blocks and, unless null, dx (samples x in). x and y are those of the
  // forward pass.
  void Backward(const float* x, const float* y, size_t samples, float* dy, float* dx) const;

 private:
  ConstMatrix weights() const;  // out x in

  const uint32_t in_;
  const uint32_t out_;
  const Activation activation_;
  DenseParameters* const parameters_;
  MatrixProducts* const products_;
  const size_t weight_block_;
  const size_t bias_block_;
};

}  // namespace rowhouse
