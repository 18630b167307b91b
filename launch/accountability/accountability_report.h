// What `rowhouse plan --accountability` prints. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/accountability/verdict.h"

namespace rowhouse {

// The line of a configuration, and the heads of its columns.
std::string RunLine(const AccountedRun& run);
std::string RunLineHead();

// A line a configuration and a plan, the kernels, then the targets.
std::string AccountabilityText(const Accountability& all);

// {configs, gmae: {step_time, bytes, load, kernels}, p90: {...}, rows: [{name, ps, workers, yaml,
//  step_ms {predicted, measured, runs, spread}, wire_bytes, hit_rate, ps_nodes, phases_ms, drift,
//  attempts, counts, is_oversubscribed, is_unsteady}], choices, kernels, targets, seconds}
nlohmann::ordered_json AccountabilityToJson(const Accountability& all);

}  // namespace rowhouse
