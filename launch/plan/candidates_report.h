// Candidate plans for a terminal, as JSON and on a page. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "launch/figures/figures.h"
#include "launch/plan/candidate_plans.h"

namespace rowhouse {

// Text: candidates, fastest first; where the fastest puts the most expensive tables; the most
// useful changes. JSON:
// {rowhouse_lab: 1, cluster {...}, machine {...}, model, ids, configured, best, strategies: [{name,
//  refused, ms, bound, is_oversubscribed, phases {...}, wire_bytes, hit_rate, memory {max,
//  mean, max_over_mean}, load {...}, ps: [{...}]}], tables: [{name, rows, where, ...}] of the
//  best, gains: [{what, how, ms, share}]}. Times are milliseconds a step; figures that are not
//  known are null.
Figures CandidateFigures(const LabRun& run, std::span<const CandidatePlan> candidates,
                         std::span<const Saving> savings);

// A line for each reason for which candidates were refused, with their names; "" if none was.
std::string RefusedText(std::span<const CandidatePlan> candidates);

// The parts that the JSON and the pages of other modes have as well.
nlohmann::ordered_json LabRunToJson(const LabRun& run);
nlohmann::ordered_json PhasesToJson(const StepPhases& phases);

// For the page (lab_page.h): rows that each PS node gives in a step, by table; tables beyond the
// busiest ones are one.
Result<nlohmann::ordered_json> LoadsByTable(const LabRun& run, const CandidatePlan& candidate);

// For the page. Per busiest table: the store-read share of its rows as a function of its cache
// bytes on a PS node.
nlohmann::ordered_json MissRatioCurves(const LabRun& run, const CandidatePlan& candidate);

}  // namespace rowhouse
