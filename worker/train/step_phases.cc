#include "worker/train/step_phases.h"

namespace rowhouse {

std::vector<PhaseKind> StepPhaseKinds() {
  std::vector<PhaseKind> kinds;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    kinds.push_back({.name = phase.name});
    if (phase.amount != nullptr) kinds.back().amounts = {phase.amount};
  }
  kinds.push_back({.name = "between steps"});
  return kinds;
}

StepPhases StepPhasesOf(const PhaseLog& log) {
  StepPhases phases;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    phases.*phase.value = log.seconds_of(phase.name);
  }
  return phases;
}

}  // namespace rowhouse
