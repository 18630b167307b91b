#include "launch/accountability/predicted_phases.h"

namespace rowhouse {

const std::vector<NamedPhaseCost>& NamedPhaseCosts() {
  static const std::vector<NamedPhaseCost> phases = {
      {"data", &PhaseCost::data},
      {"merge", &PhaseCost::merge},
      {"pull", &PhaseCost::pull},
      {"row_gradients", &PhaseCost::row_gradients},
      {"pool", &PhaseCost::pool},
      {"mlp", &PhaseCost::mlp},
      {"interaction", &PhaseCost::interaction},
      {"pool_backward", &PhaseCost::pool_backward},
      {"push", &PhaseCost::push},
      {"allreduce", &PhaseCost::allreduce},
      {"dense_update", &PhaseCost::dense_update},
  };
  return phases;
}

double PhaseOf(const PhaseCost& phases, std::string_view name) {
  for (const NamedPhaseCost& phase : NamedPhaseCosts()) {
    if (phase.name == name) return phases.*phase.cost;
  }
  return 0;
}

}  // namespace rowhouse
