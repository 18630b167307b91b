// Planner: searches for the plan with the least predicted step time under memory limits.
//
// Threads: pure functions; the same result on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/cost/step_cost.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {

struct PlannerOptions {
  std::string method = "auto";  // greedy | local_search | exhaustive | auto: exhaustive where it is
                                // small enough, else local search
  uint64_t max_moves = 200'000;  // of local search
  uint32_t hot_rows = 1024;      // on the workers, at most, over all tables
  bool may_pool_on_shards = true;
  bool may_replicate = true;
  bool may_split = true;  // rows and columns of a table over several shards
};

// What was decided for one physical table, and why.
struct TableDecision {
  std::string strategy;  // the name of the strategy that it is like: "table_wise", "row_wise", ...
  uint32_t pieces = 1;   // slices
  bool pools_on_shards = false;
  uint32_t hot_rows = 0;   // on the workers
  double cache_bytes = 0;  // its share of the PS nodes' caches
  std::string why;         // one sentence, with figures
};

struct PlannedRun {
  Plan plan;
  StepCost cost;  // predicted
  std::vector<TableDecision> tables;
  std::string method;  // that found it
  uint64_t plans_tried = 0;
  double lower_bound_load = 0;  // no plan has a smaller largest load
};

// kUsage, naming the table or node and by how much, if no plan keeps within the limits of
// `cluster`.
Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options = {});

}  // namespace rowhouse
