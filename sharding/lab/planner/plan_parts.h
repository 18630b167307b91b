// PlanByTable: a plan as the planner changes it, table by table. Threads: plain data.
#pragma once

#include <vector>

#include "common/status.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct TableParts {
  std::vector<Slice> slices;
  TablePlacement placement;

  bool is_on_workers() const { return slices.size() == 1 && slices[0].shard == kOnWorkers; }
};

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

// Ways to place a table whatever the others do. Requires shards > 0.
TableParts PartsOnWorkers(const TableSpec& table);
TableParts PartsWhole(const TableSpec& table, ShardId shard);
// Equal ranges of rows, for each shard one, in a scattered order.
TableParts PartsByRows(const TableSpec& table, uint32_t shards);
// Ranges of columns, as many as there can be, at most one a shard, from shard `first` on.
TableParts PartsByColumns(const TableSpec& table, uint32_t shards, uint32_t first);

// The row order of tables that the planner divides by rows: the same for a table of one name.
RowOrder ScatteredOrderOf(const TableSpec& table);

}  // namespace rowhouse
