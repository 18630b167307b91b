// PlanByTable: an editable plan. TablePlaces: placements a table may have. DraftPlan: one plan from
// chosen forms.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "common/status.h"
#include "sharding/lab/planner/load_search.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/lab/planner/table_forms.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct TableParts {
  std::vector<Slice> slices;
  TablePlacement placement;

  bool is_on_workers() const { return slices.size() == 1 && slices[0].shard == kOnWorkers; }
};

// A plan as the planner changes it, table by table.
class PlanByTable {
 public:
  PlanByTable() = default;
  explicit PlanByTable(const Plan& plan);
  explicit PlanByTable(std::vector<TableParts> tables) : tables_(std::move(tables)) {}

  std::vector<TableParts>& tables() { return tables_; }
  const std::vector<TableParts>& tables() const { return tables_; }

  // As Plan::Make, and kUsage if bags cannot be pooled as it says.
  Result<Plan> ToPlan(const EmbeddingTables& tables, uint32_t shards) const;

 private:
  std::vector<TableParts> tables_;
};

// The places that a table may have in a plan, whatever the other tables have. Constructor arguments
// must outlive it.
class TablePlaces {
 public:
  TablePlaces(const Workload& workload, uint32_t shards, const PlannerOptions& options,
              const TableForms& forms)
      : workload_(workload), shards_(shards), options_(options), forms_(forms) {}

  // Ways to place one table, those that are allowed; `now`: as it is, null if it is nowhere yet.
  std::vector<TableParts> Of(const TableSpec& table, const TableParts* now) const;

  // Whether options, table and kind allow it.
  bool IsAllowed(const TableSpec& table, const TableParts& parts) const;

  // The plan with bags pooled on shards, where that is possible.
  PlanByTable Pooled(const Plan& plan, bool only_where_better) const;

 private:
  void AddPooled(const TableSpec& table, TableParts parts, std::vector<TableParts>* places) const;

  const Workload& workload_;
  const uint32_t shards_;
  const PlannerOptions& options_;
  const TableForms& forms_;
};

// What PS nodes and workers may hold.
struct NodeLimits {
  uint64_t row_bytes = 0;       // rows and optimizer state of a PS node, at most; 0: any
  const char* what = "memory";  // name of the limited resource, for messages
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
