// The plan a run routes by: read from the operator's file, or made by the strategies that its
// settings name.
#pragma once

#include <string>

#include "launch/settings.h"
#include "sharding/plan_file.h"

namespace rowhouse {

// Requires settings that are Validate()d, nodes and shards_per_node >= 1. `measured`: instead of
// the file access_counts. kUsage, naming file, table or setting, if the plan cannot be had, is of
// other tables or other numbers of nodes and shards, of more than kMostShards, or gives a PS node
// more than ps_rows_mb.
Result<Plan> PlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                    const AccessCounts* measured = nullptr);

// The files alone; kUsage, naming the flag and the file.
Result<PlanFile> ReadPlanOf(const Settings& settings);
Result<AccessCounts> ReadAccessCounts(const std::string& path,
                                      const std::string& flag = "access_counts");

}  // namespace rowhouse
