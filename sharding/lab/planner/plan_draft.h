// A plan made from one form of each table: the pieces go where the search puts them.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "sharding/lab/planner/load_search.h"
#include "sharding/lab/planner/plan_parts.h"
#include "sharding/lab/planner/table_forms.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

// What PS nodes and workers may hold.
struct NodeLimits {
  uint64_t row_bytes = 0;       // rows and optimizer state of a PS node, at most; 0: any
  const char* what = "memory";  // that is, for errors
  uint64_t worker_bytes = 0;    // rows and dense layers of a worker, at most; 0: any
};

// The pieces of tables that are not on the workers are placed by SearchPlacement; tables are cut
// only if `may_cut`. kUsage, naming the table that does not fit and by how much, if there is no
// room.
Result<PlanByTable> DraftPlan(const Workload& workload, const ClusterShape& cluster,
                              const NodeLimits& limits, const std::vector<TableForm>& forms,
                              bool may_cut);

// Bytes of rows and state of each PS node, as if every row existed.
std::vector<double> RowBytesOfNodes(const Workload& workload, const Plan& plan,
                                    uint32_t shards_per_ps);

}  // namespace rowhouse
