// What a plan looks like: parts of the page of the sharding lab (launch/plan/lab_page.h) that are
// computed for it. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "launch/plan/candidate_plans.h"

namespace rowhouse {

// Rows that each PS node gives in a step, by table; tables beyond the busiest ones are one.
Result<nlohmann::ordered_json> LoadsByTable(const LabRun& run, const CandidatePlan& candidate);

// Of each of the busiest tables the share of its rows that is read from the store, over the bytes
// of a PS node's cache that are the table's.
nlohmann::ordered_json MissRatioCurves(const LabRun& run, const CandidatePlan& candidate);

}  // namespace rowhouse
