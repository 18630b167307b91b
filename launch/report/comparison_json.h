// What `rowhouse compare` finds, as JSON for scripts: a list with an object a run or a strategy.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "launch/report/comparison.h"
#include "launch/report/strategy_comparison.h"

namespace rowhouse {

// Keys as the columns of ComparisonCsv(); null for what a report does not say.
nlohmann::ordered_json ComparisonJson(const std::vector<ComparedRun>& runs);

// Keys as the columns of StrategyCsv(); of a refused strategy only strategy and refused.
nlohmann::ordered_json StrategyJson(const std::vector<StrategyCost>& costs);

}  // namespace rowhouse
