// Planner: searches for the plan with the least predicted step time under memory limits.
//
// The cheapest form of each table by itself is placed by longest processing time first, then by
// moves, swaps and cuts (sharding/lab/planner/load_search.h). The best of such drafts and of all
// strategies by PredictStep is changed table by table, of few tables two at a time, as long as that
// helps. At last the pieces of the best plan are placed once more, also with those large tables
// divided by rows that shards had pooled. The result is taken if it is faster; or if it is clearly
// more even and takes at most 1 % longer, and no longer than table_wise_lpt. tests/sharding/planner
// compares with all plans of small instances.
//
// The plan then gets the cache shares that save most reads (sharding/lab/planner/plan_choice.h),
// where rows are stored in files and do not fit the caches.
//
// As in RecShard (Sethi et al., 2022) tables are placed by what their lookups cost and not by
// their bytes, with hot rows apart; as in TorchRec's planner each table has its own strategy. Every
// plan trains the same model, bit for bit. Threads: pure functions; the same result on every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/lab/cost/step_cost.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {

struct PlannerOptions {
  uint32_t hot_rows = 1024;  // on the workers, at most, over all tables; 0: none
  bool may_pool_on_shards = true;
  bool may_replicate = true;
  bool may_split = true;  // rows and columns of a table over several shards
  // Of rows and optimizer state of a PS node, at most; 0: any. Beside what the cluster says.
  uint64_t ps_row_bytes = 0;
};

// What was decided for one physical table.
struct TableDecision {
  std::string strategy;  // the name of the strategy that it is like: "table_wise", "row_wise", ...
  uint32_t pieces = 1;   // slices
  bool pools_on_shards = false;
  uint32_t hot_rows = 0;  // on the workers
  // Of all PS nodes' caches, as the run begins; nodes move them later, by what they measure
  // (ps/cache/cache_ledger.h).
  double cache_bytes = 0;
  std::optional<double> cache_share;  // of each of its shards' caches, if the plan says it
  // Milliseconds of a step that the table costs by the machine's kernels if the shards share its
  // work evenly: if workers pull its rows, if shards pool its bags, and if workers have it all. Not
  // set: it cannot be. The planner decides by the whole step.
  std::optional<double> rows_ms, bags_ms, workers_ms;
};

struct PlannedRun {
  Plan plan;
  StepCost cost;  // predicted
  std::vector<TableDecision> tables;
  std::string method;        // that found it: "table_wise_lpt", "local search", ...
  uint64_t plans_tried = 0;  // by PredictStep
  // Milliseconds that a PS node is busy in a step: the largest, the mean, and a lower bound of the
  // largest for plans that do the same work: the mean, or the largest table that cannot be divided.
  double largest_load = 0, mean_load = 0, lower_bound_load = 0;
};

// Tables keep a place that their kind asks for, and pool_on if they say it; strategies that they
// name are not followed. Rows of tables on shards that store rows in memory count against
// cluster.ps_memory_bytes, of others against ps_disk_bytes; rows on the workers against
// WorkerMemoryLimit. Tables that shards have no room for go to the workers, if those have.
//
// kUsage, naming the table or node and by how much, if no plan keeps within the limits of
// `cluster`.
Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options = {});

// The strategy that a table of the plan is placed like: its name in ShardingStrategies(), or
// "table_wise" for a whole one.
std::string StrategyLike(const TableSpec& table, const Plan& plan);

}  // namespace rowhouse
