#include "sharding/rows/optimizer.h"

#include <algorithm>
#include <map>

namespace rowhouse {
namespace {

std::map<std::string, std::string>& DenseOptimizerNames() {
  static std::map<std::string, std::string> names;
  return names;
}

}  // namespace

std::string DenseOptimizerOf(const std::string& optimizer) {
  const auto found = DenseOptimizerNames().find(optimizer);
  return found == DenseOptimizerNames().end() ? optimizer : found->second;
}

void SetDenseOptimizerOf(const std::string& optimizer, const std::string& dense) {
  if (!dense.empty()) DenseOptimizerNames()[optimizer] = dense;
}

Registry<Optimizer, OptimizerOptions>& Optimizers() {
  static Registry<Optimizer, OptimizerOptions> registry("optimizer");
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
