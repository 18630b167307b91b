// DenseOptimizer: how the summed gradient of the two MLPs changes their parameters. Every worker
// runs it on the same numbers, so the replicas stay equal bit for bit.
//
// Exactness: elementwise f32, no contraction: the same bits on every instruction set.
// Threads:   one.
// To add one, write worker/dense_optimizers/<name>.cc; it registers itself here.
#pragma once

#include <cstddef>
#include <span>

#include "common/registry.h"

namespace rowhouse {

struct DenseOptimizerOptions {
  size_t parameters = 0;             // floats it is made for
  float epsilon = 1e-10f;            // added after the root
  float initial_accumulator = 0.0f;  // first value of squared-gradient sums
};

class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;

  // One step. Requires gradients.size() == parameters.size() == options.parameters.
  virtual void Apply(float learning_rate, std::span<const float> gradients,
                     std::span<float> parameters) = 0;

  // What a checkpoint keeps beside the parameters and puts back by writing here; may be empty.
  virtual std::span<float> state() = 0;
};

// Known by the names of the row optimizers too: where rows have a row-wise optimizer, the dense
// part has its elementwise form, as in DLRM.
Registry<DenseOptimizer, DenseOptimizerOptions>& DenseOptimizers();

}  // namespace rowhouse
