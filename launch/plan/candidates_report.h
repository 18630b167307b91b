// Candidate plans for a terminal and as JSON. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "launch/plan/candidate_plans.h"
#include "launch/plan/gains.h"

namespace rowhouse {

// A line for each candidate, the fastest first; where the fastest one puts the tables that take
// most time; what would help.
std::string CandidatesText(const LabRun& run, std::span<const CandidatePlan> candidates,
                           std::span<const Gain> gains);

// A line for each reason for which candidates were refused, with their names; "" if none was.
std::string RefusedText(std::span<const CandidatePlan> candidates);

// {rowhouse_lab: 1, cluster {...}, machine {...}, model, ids, configured, best, strategies: [{name,
//  refused, ms, bound, is_oversubscribed, phases {...}, wire_bytes, hit_rate, memory {max,
//  mean, max_over_mean}, load {...}, ps: [{...}]}], tables: [{name, rows, where, ...}] of the
//  best, gains: [{what, how, ms, share}]}. Times are milliseconds a step; figures that are not
//  known are null.
nlohmann::ordered_json CandidatesToJson(const LabRun& run,
                                        std::span<const CandidatePlan> candidates,
                                        std::span<const Gain> gains);

// The parts that the pages of other modes show as well.
nlohmann::ordered_json LabRunToJson(const LabRun& run);

}  // namespace rowhouse
