// Planner: searches for the plan with the least predicted step time under memory limits.
//
//   greedy        each table in the form that costs least by itself, the largest first, each to the
//                 shard with the least load (longest processing time first)
//   local_search  greedy, then moves, swaps and cuts (sharding/planner/load_search.h); the best of
//                 these and of all strategies by PredictStep; then other places for single tables.
//                 At last the pieces of the best are spread anew, also with large tables divided
//                 by rows that shards had pooled, if that is faster; or if it is clearly more even
//                 and takes at most 1 % longer, and no longer than table_wise_lpt
//   exhaustive    every combination of places: each table on the workers, whole on any shard, or
//                 divided evenly by rows or by columns, with workers or shards pooling it
//
// Whatever finds it, the plan then gets the cache shares that save most reads
// (sharding/planner/cache_choice.h), where rows are stored in files and do not fit the caches.
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
#include "sharding/cost/step_cost.h"
#include "sharding/plans/plan_maker.h"

namespace rowhouse {

struct PlannerOptions {
  std::string method = "auto";  // greedy | local_search | exhaustive | auto: exhaustive where it is
                                // small enough, else local search
  uint64_t max_moves = 200'000;  // of local search
  uint32_t hot_rows = 1024;      // on the workers, at most, over all tables; 0: none
  bool may_pool_on_shards = true;
  bool may_replicate = true;
  bool may_split = true;  // rows and columns of a table over several shards
  // Of rows and optimizer state of a PS node, at most; 0: any. Beside what the cluster says.
  uint64_t ps_row_bytes = 0;
};

// What was decided for one physical table, and why.
struct TableDecision {
  std::string strategy;  // the name of the strategy that it is like: "table_wise", "row_wise", ...
  uint32_t pieces = 1;   // slices
  bool pools_on_shards = false;
  uint32_t hot_rows = 0;  // on the workers
  // Of all PS nodes' caches, as the run begins; nodes move them later, by what they measure
  // (ps/cache/cache_budget.h).
  double cache_bytes = 0;
  std::optional<double> cache_share;  // of each of its shards' caches, if the plan says it
  std::string why;                    // one sentence, with figures
};

struct PlannedRun {
  Plan plan;
  StepCost cost;  // predicted
  std::vector<TableDecision> tables;
  std::string method;        // that found it: "greedy", "table_wise_lpt", "local search", ...
  uint64_t plans_tried = 0;  // by PredictStep
  // Milliseconds that a PS node is busy in a step: the largest and the mean, and what no plan goes
  // below that does the same work: the mean, or the largest table that cannot be divided.
  double largest_load = 0, mean_load = 0, lower_bound_load = 0;
};

// Tables keep a place that their kind asks for, and pool_on if they say it; strategies that they
// name are not followed. Rows of tables on shards that store rows in memory count against
// cluster.ps_memory_bytes, of others against ps_disk_bytes; rows on the workers against
// WorkerMemoryLimit. Tables that shards have no room for go to the workers, if those have.
//
// kUsage, naming the table or node and by how much, if no plan keeps within the limits of
// `cluster`; for an unknown method; and for exhaustive of more than 50,000 plans.
Result<PlannedRun> PlanFor(const Workload& workload, const ClusterShape& cluster,
                           const Machine& machine, const PlannerOptions& options = {});

}  // namespace rowhouse
