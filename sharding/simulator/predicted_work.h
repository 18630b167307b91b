// The numbers of a step that PredictStep gives, taken apart for the simulation.
//
// Threads: pure functions.
#pragma once

#include "common/status.h"
#include "sharding/simulator/step_work.h"

namespace rowhouse {

// By PredictStep: load, bytes and updates are those of the whole cluster, phases those of a worker
// alone with its share of the samples. kUsage as PredictStep.
Result<StepWork> StepWorkOf(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
                            const Machine& machine);

}  // namespace rowhouse
