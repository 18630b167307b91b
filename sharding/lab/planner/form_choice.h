// FormChoice: a form for each table, before it is known which shards get which pieces: the forms
// that cost least by themselves, and those that keep to what workers and PS nodes may hold.
//
// Threads: const functions may be shared.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sharding/lab/planner/plan_draft.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/lab/planner/table_forms.h"

namespace rowhouse {

class FormChoice {
 public:
  // All of them outlive this object.
  FormChoice(const Workload& workload, const PlannerOptions& options, const NodeLimits& limits,
             const TableForms& forms)
      : workload_(workload), options_(options), limits_(limits), forms_(forms) {}

  // Of each table the form that costs least if shards share its work evenly; of those of which no
  // piece need take a shard more than `most_ms`, if there are any. Tables that workers have no room
  // for are on shards.
  std::vector<TableForm> Best(bool with_hot_rows = true,
                              double most_ms = std::numeric_limits<double>::infinity()) const;

  // Workers pull the rows of all tables that may be on shards: rows take the least room there.
  std::vector<TableForm> Rows() const;

  // Rows(), with more and more tables on the workers, those first whose bytes cost least there: the
  // first entry has as many as leave shards no more bytes than `shard_bytes` in all, the last one
  // as many as there can be. Empty if no table can leave the shards.
  std::vector<std::vector<TableForm>> Roomier(double shard_bytes) const;

  // Whether Roomier() left tables on shards because workers have no room for them.
  bool WorkersAreFull() const;

 private:
  TableForm BestOf(const TableSpec& table, bool with_hot_rows, double most_ms,
                   bool may_replicate) const;
  bool MayLeaveShards(const TableSpec& table) const;
  // What is left for tables that need not be on the workers.
  double WorkerRoom() const;
  // The tables that can leave the shards, those first whose bytes cost least on the workers, as
  // many as there is room for.
  std::vector<TableId> Leaving() const;

  const Workload& workload_;
  const PlannerOptions& options_;
  const NodeLimits& limits_;
  const TableForms& forms_;
};

}  // namespace rowhouse
