#include "worker/dense/dense_optimizer.h"

#include "common/kernels/row_updates.h"

namespace rowhouse {

void DenseOptimizer::Apply(float learning_rate, uint64_t step, std::span<const float> gradients,
                           std::span<float> parameters) {
  CHECK_EQ(gradients.size(), options_.parameters);
  CHECK_EQ(parameters.size(), options_.parameters);
  Update(static_cast<float>(double{learning_rate} * options_.learning_rate_factor), step, gradients,
         parameters);
}

std::span<const float> DenseOptimizer::Decayed(std::span<const float> gradients,
                                               std::span<const float> parameters) {
  if (options().weight_decay == 0.0f) return gradients;
  decayed_.resize(gradients.size());
  AddDecay(options().weight_decay, gradients, parameters, decayed_);
  return decayed_;
}

Registry<DenseOptimizer, DenseOptimizerOptions, DenseOptimizerDeclaration>& DenseOptimizers() {
  static Registry<DenseOptimizer, DenseOptimizerOptions, DenseOptimizerDeclaration> registry(
      "dense optimizer");
  return registry;
}

}  // namespace rowhouse
