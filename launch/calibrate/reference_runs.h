// Reference runs: a few small models, none of those that are judged, trained for real to see how a
// step differs from its kernels, and how fast the machine is now.
//
// A kernel takes longer inside a step than when it is measured again and again: other phases have
// filled the processor's caches, and threads were asleep. The cost model multiplies each phase by a
// factor (InStep of sharding/lab/cost/machine.h); FitInStep makes them the constants
// "in_step_<phase>" of the machine. The model's own factors, for machines that were not calibrated,
// were fitted to the judged configurations (docs/cost_model.md); these here are not. Threads: one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/trained_config.h"
#include "sharding/lab/cost/machine.h"

namespace rowhouse {

struct ReferenceRun {
  TrainedConfig config;
  MeasuredStep step;
};

std::vector<TrainedConfig> ReferenceConfigs();

// Trains them once. `on_run`: called before each; an error ends it.
Result<std::vector<ReferenceRun>> TrainReferences(
    const std::function<Status(const std::string& name)>& on_run);

// Fits the factor of each phase, so that the phase's times over all runs sum up to what was
// measured. Requires runs of one worker.
Status FitInStep(const std::vector<ReferenceRun>& runs, Machine* machine);

}  // namespace rowhouse
