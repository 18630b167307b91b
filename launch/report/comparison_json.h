// The comparisons as JSON for scripts: a list with an object for each run or strategy. Threads:
// pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "launch/report/comparison.h"
#include "launch/report/strategy_comparison.h"

namespace rowhouse {

// Keys are the columns of ComparisonCsv(); what a report does not have is null.
nlohmann::ordered_json ComparisonJson(const std::vector<ComparedRun>& runs);

// Keys are the columns of StrategyCsv(); a refused strategy has only strategy and refused.
nlohmann::ordered_json StrategyJson(const std::vector<StrategyCost>& costs);

}  // namespace rowhouse
