#include "worker/dense_optimizer.h"

namespace rowhouse {

Registry<DenseOptimizer, DenseOptimizerOptions>& DenseOptimizers() {
  static Registry<DenseOptimizer, DenseOptimizerOptions> registry("dense optimizer");
  return registry;
}

}  // namespace rowhouse
