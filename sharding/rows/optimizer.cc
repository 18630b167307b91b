#include "sharding/rows/optimizer.h"

#include <algorithm>

namespace rowhouse {
Registry<Optimizer, OptimizerOptions, OptimizerDeclaration>& Optimizers() {
  static Registry<Optimizer, OptimizerOptions, OptimizerDeclaration> registry("optimizer");
  return registry;
}

void Optimizer::InitState(std::span<float> state) const { std::ranges::fill(state, 0.0f); }

StateShape StateShapeOf(const Optimizer& optimizer) {
  const size_t one = optimizer.state_floats(1);
  const size_t planes = optimizer.state_floats(2) - one;
  CHECK_LE(planes, one) << "an optimizer's state is planes * dim + row floats";
  return {static_cast<uint32_t>(planes), static_cast<uint32_t>(one - planes)};
}

}  // namespace rowhouse
