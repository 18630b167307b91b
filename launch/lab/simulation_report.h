// What a simulated run says, as text and as JSON. Threads: pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/lab/lab_run.h"
#include "sharding/simulator/simulator.h"

namespace rowhouse {

// `predicted`: of the same run, without queues and waiting.
std::string SimulationText(const LabRun& run, const SimulatorOptions& options,
                           const StepCost& predicted, const SimulatedRun& simulated);

// {"rowhouse_simulation": 1, cluster, machine, options, "median_step_ms", ..., "phases", "ps":
// [rank], "workers": [rank]}; a rank: busy_share, bytes, longest_queue, mean_wait_ms, load.
nlohmann::ordered_json SimulationToJson(const LabRun& run, const SimulatorOptions& options,
                                        const StepCost& predicted, const SimulatedRun& simulated);

}  // namespace rowhouse
