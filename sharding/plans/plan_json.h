// What the JSON of a plan says, before it is checked that its slices partition the tables.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct PlanParts {
  uint32_t shards = 0;
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
};

// How a mistake names element `index`, from 0, of the list "slices" or "placements".
using DescribePlanPart = std::function<std::string(const std::string& list, size_t index)>;
std::string DescribePlanPartByNumber(const std::string& list, size_t index);  // "slice 3"

// The format is Plan::ToJson()'s. kCorruption, saying what of which part, for keys, values or a
// version that it does not know, and for what its version does not; kUsage for tables that are none
// of `tables`.
Result<PlanParts> ReadPlanParts(const nlohmann::json& json, const std::vector<TableSpec>& tables,
                                const DescribePlanPart& describe);

}  // namespace rowhouse
