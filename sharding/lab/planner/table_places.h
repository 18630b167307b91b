// TablePlaces: the places that a table may have in a plan, whatever the other tables have.
//
// All objects that it is made of outlive it. Threads: const functions may be shared.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/lab/planner/plan_draft.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/lab/planner/table_forms.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

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

}  // namespace rowhouse
