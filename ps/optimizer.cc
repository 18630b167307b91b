#include "ps/optimizer.h"

namespace rowhouse {

Registry<Optimizer, OptimizerOptions>& Optimizers() {
  static Registry<Optimizer, OptimizerOptions> registry("optimizer");
  return registry;
}

}  // namespace rowhouse
