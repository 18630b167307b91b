// --plan=auto: the planner makes the run's plan (sharding/lab/planner), from its settings and the
// machine's constants; and whether a run takes it.
//
// Threads: pure, but for reading files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/figures/figures.h"
#include "launch/settings/settings.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// Access counts: `measured`, else the file access_counts. Requires settings that are Validate()d.
// kUsage: as PlanFor; unreadable calibration or counts; capacities (the planner assumes equal PS
// nodes).
Result<PlannedRun> AutoPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const AccessCounts* measured = nullptr);
// The same for a workload, cluster and machine that are known.
Result<PlannedRun> AutoPlanOf(const Settings& settings, const Workload& workload,
                              const ClusterShape& cluster, const Machine& machine);

// How it was found, what a step is predicted to take and, for each table, what was decided and what
// it costs in each form.
std::string AutoPlanText(const Settings& settings, const PlannedRun& planned);

// The per-form costs of AutoPlanText as columns, and as cells of a table's row.
void AddFormColumns(FigureTable* table);
void AddFormCells(const TableDecision& decision, FigureTable::Row* row);

// ---- The plan that a run with --plan=auto trains with -------------------------------------------
//
// Predictions err, and those for a host that nobody measured err by factors. So the planner's plan
// is taken only if this host was calibrated and the plan saves more than the error.

// The error of predicted steps on a calibrated host (docs/cost_model.md).
inline constexpr double kModelError = 0.10;

// The hosts of a run.
struct RunHosts {
  uint32_t hosts = 1;
  uint32_t cores = 0;       // of the host with the fewest; 0: not known
  bool share_rows = false;  // all ranks see the same row directory
};

// What the planner's plan was taken for.
struct PlanPromise {
  double ms = 0;             // a step, predicted
  double configured_ms = 0;  // with the configured plan
  std::string configured;    // "strategy row_wise"
};

struct ChosenPlan {
  Plan plan;
  std::optional<PlanPromise>
      promise;       // none: the plan is the configured one, or that one is not possible
  std::string text;  // for people: what was proposed, what is used, and why
};

// Requires settings that are Validate()d and ask for the planner. The planner's plan also where the
// configured one cannot be. kUsage as AutoPlanOf.
Result<ChosenPlan> ChoosePlan(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const RunHosts& hosts);

// The plan that `strategy` and `pool_on` of such settings make; errors as PlanOf.
Result<Plan> ConfiguredPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node);

// A line that says by how much the median step of a run missed the promise; "": it kept it.
std::string BrokenPromiseText(const PlanPromise& promise, double median_step_ms);

}  // namespace rowhouse
