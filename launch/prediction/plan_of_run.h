// The plan by which a run routes rows: read from the operator's file, or made by the strategies
// that the settings name; and the traffic it causes.
//
// Threads: pure, but for reading files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/settings/settings.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/plan_file.h"

namespace rowhouse {

// Requires settings that are Validate()d, nodes and shards_per_node >= 1. `measured`: instead of
// the file access_counts. `workers`: of the run, which the planner (auto_plan.h) wants to know.
// kUsage, naming file, table or setting, if the plan cannot be made or read, is of other tables or
// other numbers of nodes and shards, of more than kMaxShards, or gives a PS node more than
// ps_rows_mb.
Result<Plan> PlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                    const AccessCounts* measured = nullptr, uint32_t workers = 1);

// What every plan of a run has to keep, whoever made it: pooling, and ps_rows_mb. kUsage as PlanOf.
Status CheckPlanOfRun(const Settings& settings, const Plan& plan, uint32_t shards_per_node);

// The files alone; kUsage, naming the flag and the file.
Result<PlanFile> ReadPlanOf(const Settings& settings);
Result<AccessCounts> ReadAccessCounts(const std::string& path,
                                      const std::string& flag = "access_counts");

// Those that access_counts names, if any.
Result<std::optional<AccessCounts>> GivenAccessCounts(const Settings& settings);

// PS nodes that ps or ps_endpoints give; 1 if neither does.
uint32_t PsNodesOf(const ClusterSettings& cluster);

// What the plan moves in a step of this many workers, by `accesses`, or else by the counts that
// access_counts names, if any; kUsage for a file of counts that cannot be read.
Result<std::vector<TableTraffic>> TrafficOfRun(const Settings& settings, const Plan& plan,
                                               uint32_t workers,
                                               const AccessCounts* accesses = nullptr);

}  // namespace rowhouse
