#include "sharding/rows/optimizer.h"

namespace rowhouse {

Registry<Optimizer, OptimizerOptions>& Optimizers() {
  static Registry<Optimizer, OptimizerOptions> registry("optimizer");
  return registry;
}

StateShape StateShapeOf(const Optimizer& optimizer) {
  const size_t one = optimizer.state_floats(1);
  const size_t planes = optimizer.state_floats(2) - one;
  CHECK_LE(planes, one) << "an optimizer's state is planes * dim + row floats";
  return {static_cast<uint32_t>(planes), static_cast<uint32_t>(one - planes)};
}

}  // namespace rowhouse
