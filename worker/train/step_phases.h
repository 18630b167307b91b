// The log of a worker's step phases (common/step_phases.h).
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "common/phase_log.h"
#include "common/step_phases.h"

namespace rowhouse {

constexpr PhaseLog::Phase Number(StepPhase phase) { return static_cast<PhaseLog::Phase>(phase); }

// The kinds of a log that begins with these phases, in their order.
std::vector<PhaseKind> StepPhaseKinds();

// Of a log made with StepPhaseKinds; seconds.
StepPhases StepPhasesOf(const PhaseLog& log);

}  // namespace rowhouse
