// Phases of a step by the names that reports have (worker/train/step_phases.h).
//
// Threads: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "sharding/cost/step_cost.h"

namespace rowhouse {

struct NamedPhaseCost {
  const char* name;
  double PhaseCost::*cost;
};
// In order of a step.
const std::vector<NamedPhaseCost>& NamedPhaseCosts();

// Milliseconds; 0 for a name that the model has no phase of.
double PhaseOf(const PhaseCost& phases, std::string_view name);

}  // namespace rowhouse
