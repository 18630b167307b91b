// Reads the JSON of a plan. Whether the slices partition the tables is checked later, by
// Plan::Make.
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

// How an error names element `index`, from 0, of the list "slices" or "placements".
using DescribePlanPart = std::function<std::string(const std::string& list, size_t index)>;
std::string DescribePlanPartByNumber(const std::string& list, size_t index);  // "slice 3"

// Reads what Plan::ToJson() writes. kCorruption, naming the element, for an unknown key, value or
// version, and for an element that the version given in `json` does not have yet. kUsage for a
// table that is not in `tables`.
Result<PlanParts> ReadPlanParts(const nlohmann::json& json, const std::vector<TableSpec>& tables,
                                const DescribePlanPart& describe);

}  // namespace rowhouse
