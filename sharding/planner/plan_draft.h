// PlanDraft: a plan made from one form of each table: the pieces go where the search puts them.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "sharding/cost/workload.h"
#include "sharding/planner/load_search.h"
#include "sharding/planner/plan_parts.h"
#include "sharding/planner/table_forms.h"

namespace rowhouse {

// What PS nodes and workers may hold.
struct NodeLimits {
  uint64_t row_bytes = 0;     // rows and optimizer state of a PS node, at most; 0: any
  std::string name;           // of the setting that says so, for errors: "--ps_memory_mb=64"
  uint64_t worker_bytes = 0;  // rows and dense layers of a worker, at most; 0: any
};

struct PlanDraft {
  PlanParts parts;
  double largest_ms = 0, mean_ms = 0;  // load of shards, a step
  double lower_bound_ms = 0;           // no placement of these forms has a smaller largest load
  uint64_t moves = 0;
};

struct DraftOptions {
  bool searches = true;  // else longest processing time first, and no more
  LoadSearchOptions search;
};

// kUsage, naming the table that does not fit and by how much, if there is no room.
Result<PlanDraft> DraftPlan(const Workload& workload, const ClusterShape& cluster,
                            const NodeLimits& limits, const std::vector<TableForm>& forms,
                            const DraftOptions& options);

// Bytes of rows and state of each PS node, as if every row existed.
std::vector<double> RowBytesOfNodes(const Workload& workload, const Plan& plan,
                                    uint32_t shards_per_ps);

}  // namespace rowhouse
