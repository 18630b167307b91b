// What a plan's rows ask of memory, for `rowhouse plan --strategies`:
// sharding/cost/memory_traffic.h beside the predicted step.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/lab/candidate_plans.h"

namespace rowhouse {

// One sentence, with its line end.
std::string MemoryTrafficText(const LabRun& run, const CandidatePlan& candidate);

// {"pull_bytes", "pool_bytes", "update_bytes", "sum_bytes", "bytes", "busiest_host_bytes",
// "dram_gbs", "least_ms"}: of all ranks, a step; least_ms: of the busiest host.
nlohmann::ordered_json MemoryTrafficToJson(const LabRun& run, const CandidatePlan& candidate);

}  // namespace rowhouse
