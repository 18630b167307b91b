#include "worker/train/step_phases.h"

#include <iterator>

namespace rowhouse {

static_assert(std::size(kNamedStepPhases) + 1 == Number(StepPhase::kCount),
              "every phase of a step is named");

std::vector<PhaseKind> StepPhaseKinds() {
  std::vector<PhaseKind> kinds;
  for (const NamedStepPhase& phase : kNamedStepPhases) kinds.push_back({.name = phase.name});
  kinds.push_back({.name = "between steps"});
  kinds[Number(StepPhase::kData)].amounts = {"samples"};
  for (const StepPhase of_rows : {StepPhase::kMerge, StepPhase::kPull, StepPhase::kPush}) {
    kinds[Number(of_rows)].amounts = {"rows"};
  }
  for (const StepPhase dense : {StepPhase::kAllreduce, StepPhase::kDenseUpdate}) {
    kinds[Number(dense)].amounts = {"floats"};
  }
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
