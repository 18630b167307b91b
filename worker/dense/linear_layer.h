// LinearLayer: y = x W^T + b, then ReLU or nothing; forward and backward for one sample block.
//
// The parameters that are trained are f32, in two blocks of the model's DenseParameters: W (out x
// in, row-major), then b (out). With products of bf16 the layer rounds W, its input and the
// gradient of its output to the nearest bf16, once each in a step; sums, bias and all results are
// f32 (mixed precision with f32 master weights, Kalamkar et al., 2019). Exactness: products as in
// matrix_product.h; the bias gradient is summed in sample order by us.
// With products of 8-bit integers (int8_layer.h) there is no Backward, and parameters stay as they
// are after the first Forward.
// Threads:   one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/dense/dense_parameters.h"
#include "worker/dense/int8_layer.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {

enum class Activation { kNone, kRelu };

struct LinearLayerSpec {
  uint32_t in = 0, out = 0;  // floats of a sample, each >= 1
  Activation activation = Activation::kNone;
  std::string weight_name, bias_name;  // of the blocks; no bias name: no bias
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
  // Requires a bias.
  size_t bias_block() const { return *bias_block_; }

  // x: samples x in; y: samples x out, overwritten. Requires samples >= 1, here and below.
  void Forward(const float* x, size_t samples, float* y);

  // For the last Forward, whose x and parameters are unchanged: y is what it gave. dy: gradient of
  // y, changed in place to the gradient before the activation. Overwrites the gradients of the
  // layer's blocks and, unless null, dx (samples x in).
  void Backward(const float* y, float* dy, float* dx);

 private:
  // The values as an operand: themselves, or their bf16 in `halves`.
  ConstMatrix Operand(const float* values, int64_t rows, int64_t columns,
                      std::vector<uint16_t>* halves) const;

  const uint32_t in_;
  const uint32_t out_;
  const Activation activation_;
  DenseParameters* const parameters_;
  MatrixProducts* const products_;
  const size_t weight_block_;
  const std::optional<size_t> bias_block_;
  std::unique_ptr<Int8Layer> int8_;  // from the first Forward, with products of integers
  std::vector<uint16_t> half_x_, half_weights_, half_dy_;  // bf16: of the last Forward, Backward
  ConstMatrix x_, weights_;  // operands of the last Forward: samples x in, out x in
};

}  // namespace rowhouse
