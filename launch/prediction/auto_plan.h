// --plan=auto: the planner makes the run's plan (sharding/lab/planner), from its settings and the
// machine's constants.
//
// Threads: pure, but for reading files.
#pragma once

#include <string>

#include "launch/figures/text_table.h"
#include "launch/settings/settings.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

// By `measured`, or else the counts that access_counts names. Requires settings that are
// Validate()d. kUsage as PlanFor; for a calibration or counts that cannot be read; and for
// capacities, as the planner takes PS nodes to be alike.
Result<PlannedRun> AutoPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const AccessCounts* measured = nullptr);
// The same for a workload, cluster and machine that are known.
Result<PlannedRun> AutoPlanOf(const Settings& settings, const Workload& workload,
                              const ClusterShape& cluster, const Machine& machine);

// How it was found, what a step is predicted to take and, for each table, what was decided and what
// it costs in each form.
std::string AutoPlanText(const Settings& settings, const PlannedRun& planned);

// The last part of it as columns and cells of any table of tables.
void AddFormColumns(TextTable* table);
void AddFormCells(const TableDecision& decision, std::vector<std::string>* row);

}  // namespace rowhouse
