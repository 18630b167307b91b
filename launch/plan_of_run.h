// The plan a run routes by: read from the operator's file, or made by the strategies that its
// settings name.
#pragma once

#include "launch/settings.h"
#include "sharding/plan.h"

namespace rowhouse {

// Requires settings that are Validate()d, nodes and shards_per_node >= 1. kUsage, naming file,
// table or setting, if the plan cannot be had, is of other tables or another number of shards, or
// gives a PS node more than ps_rows_mb.
Result<Plan> PlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node);

}  // namespace rowhouse
