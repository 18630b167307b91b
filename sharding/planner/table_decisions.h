// What a plan decides about each table, in words and figures. Threads: pure functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sharding/planner/plan_draft.h"
#include "sharding/planner/planner.h"
#include "sharding/planner/table_forms.h"

namespace rowhouse {

using OtherReason = std::function<std::string(const TableSpec& table)>;

// One for each physical table of any plan. A table's own figures are its reason only if they speak
// for what was decided; else `otherwise` says one.
std::vector<TableDecision> DecisionsOf(const Workload& workload, const ClusterShape& cluster,
                                       const TableForms& forms, const NodeLimits& limits,
                                       const Plan& plan, const OtherReason& otherwise);

// The strategy that a table of the plan is placed like: its name in ShardingStrategies(), or
// "table_wise" for a whole one.
std::string StrategyLike(const TableSpec& table, const Plan& plan);

}  // namespace rowhouse
