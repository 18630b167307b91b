// LinearLayer: y = x W^T + b, then ReLU or nothing; forward and backward for one sample block.
//
// The parameters that are trained are f32, in two blocks of the model's DenseParameters: W (out x
// in, row-major), then b (out). With products of bf16 the layer rounds W, its input and the
// gradient of its output to the nearest bf16, once each in a step; sums, bias and all results are
// f32 (mixed precision with f32 master weights, Kalamkar et al., 2019). Exactness: products as in
// matrix_product.h; the bias gradient is summed in sample order by us.
// With products of 8-bit integers (int8_layer.h) there is no Backward, and parameters stay as they
// are after the first Forward.
// Threads:   one caller, save for parts of a pass that do not overlap: those may run at once, each
//            with products of its own (layer_chain.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

// Some samples of a pass, and what multiplies for them.
struct PassPart {
  size_t first = 0, samples = 0;  // samples >= 1
  MatrixProducts* products = nullptr;
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

  // The same in parts. Begin before those of Forward; x, y, dy and dx are those of all samples.
  // dweights (out x in) and dbias (out; not read without a bias) take the sums over the part's
  // samples. With products of 8-bit integers a part has all samples.
  void Begin(size_t samples);
  void ForwardPart(const PassPart& part, const float* x, float* y);
  void BackwardPart(const PassPart& part, const float* x, const float* y, float* dy, float* dx,
                    float* dweights, float* dbias);

 private:
  std::span<const float> Bias() const;  // none: empty
  // Rows of `columns` values, the part's or all, as an operand: themselves, or their bf16 in
  // `halves`, which Round has written.
  ConstMatrix Operand(const float* values, const PassPart& part, uint32_t columns,
                      const std::vector<uint16_t>& halves) const;
  void Round(const float* values, const PassPart& part, uint32_t columns,
             std::vector<uint16_t>* halves) const;

  const uint32_t in_;
  const uint32_t out_;
  const Activation activation_;
  DenseParameters* const parameters_;
  MatrixProducts* const products_;
  const size_t weight_block_;
  const std::optional<size_t> bias_block_;
  std::unique_ptr<Int8Layer> int8_;  // from the first Forward, with products of integers
  // Of the last Forward.
  const float* x_ = nullptr;
  size_t samples_ = 0;
  std::vector<uint16_t> half_x_, half_weights_, half_dy_;  // in bf16
  ConstMatrix weights_;                                    // out x in
};

}  // namespace rowhouse
