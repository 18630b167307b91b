// Int8Layer: y = x W^T + b in products of 8-bit integers, for scoring with weights that stay.
//
// Row o of W is weight_scale[o] * q, q in [-127, 127] (symmetric, per output channel). The input of
// a sample is low + step * q, q in [0, 127], where low and step follow from that sample's own
// minimum and maximum (dynamic quantisation, as torch's quantize_dynamic, which takes one range for
// a batch): so a score does not depend on the samples beside it. Inputs have 7 bits, as
// torch's fbgemm has them: CPUs without VNNI add pairs of products in 16 bits, and these are exact
// then.
//
//   y[o] = b[o] + weight_scale[o] * (step * sum(q_x q_w) + low * sum(q_w))
//
// Exactness: sums of integers are exact and the rest is elementwise f32, so every instruction set,
// batch and number of threads gives the same bits. An input, weight or bias that is not finite
//            gives outputs that are not finite.
// Threads:   one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/dense/matrix_product.h"

namespace rowhouse {

class Int8Layer {
 public:
  // weights: out x in, row-major; bias: `out` values, or none. They are copied.
  Int8Layer(std::span<const float> weights, std::span<const float> bias, uint32_t out);

  // x: samples x in; y: samples x out, overwritten; y = max(0, y) with `relu`. The products keep
  // the weights as they want them laid out: this object outlives their use.
  void Forward(const float* x, size_t samples, bool relu, MatrixProducts* products, float* y);

 private:
  const size_t in_;
  const size_t out_;
  std::vector<int8_t> weights_;      // out x in
  std::vector<float> weight_scale_;  // of each output channel
  std::vector<float> weight_sum_;    // the sum of its weights_
  std::vector<float> bias_;          // of each output channel

  // Of the last Forward.
  std::vector<uint8_t> x_;  // samples x in
  std::vector<float> low_, step_;
  std::vector<int32_t> sums_;  // samples x out
};

}  // namespace rowhouse
