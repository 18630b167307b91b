// Phases of a predicted step by the names that reports have (worker/train/step_phases.h).
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

struct NamedPhaseCost {
  const char* name;
  double PhaseCost::*cost;
};

// All of them, in order of a step.
inline constexpr NamedPhaseCost kNamedPhaseCosts[] = {
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

// Milliseconds; 0 for a name that the model has no phase of ("other").
inline double PhaseOf(const PhaseCost& phases, std::string_view name) {
  for (const NamedPhaseCost& phase : kNamedPhaseCosts) {
    if (phase.name == name) return phases.*phase.cost;
  }
  return 0;
}

}  // namespace rowhouse
