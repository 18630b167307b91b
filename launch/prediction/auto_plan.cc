#include "launch/prediction/auto_plan.h"

#include <fmt/ranges.h>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/text_table.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"

namespace rowhouse {

Result<PlannedRun> AutoPlanOf(const Settings& settings, const Workload& workload,
                              const ClusterShape& cluster, const Machine& machine) {
  const std::string given = "--plan=" + settings.sharding.plan;
  if (!settings.sharding.capacities.empty()) {
    return UsageError(
        "{}: the planner takes PS nodes to be alike, but capacities={}; leave capacities out, or "
        "name a strategy that uses them",
        given, fmt::join(settings.sharding.capacities, ","));
  }
  const uint64_t rows_mb = settings.sharding.ps_rows_mb;
  Result<PlannedRun> planned =
      PlanFor(workload, cluster, machine,
              {.hot_rows = settings.sharding.options.hot_rows, .ps_row_bytes = rows_mb << 20});
  if (planned.status().code() != StatusCode::kUsage) return planned;
  const Status refusal =
      UsageError("{}{}", planned.status().message(), LimitsText(cluster, machine, rows_mb));
  // Of a lab's candidate no --plan was given.
  return settings.sharding.plan.empty() ? refusal : refusal.Annotate(given);
}

Result<PlannedRun> AutoPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const AccessCounts* measured) {
  AccessCounts counts;
  if (measured == nullptr && !settings.sharding.access_counts.empty()) {
    ASSIGN_OR_RETURN(counts, ReadAccessCounts(settings.sharding.access_counts));
    measured = &counts;
  }
  ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(settings, workers, measured));
  ASSIGN_OR_RETURN(const CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  return AutoPlanOf(settings, workload, ClusterOf(settings, nodes, shards_per_node, workers),
                    machine.machine);
}

namespace {

std::string CacheText(const TableDecision& decision) {
  const std::string bytes = BytesText(decision.cache_bytes);
  return decision.cache_share ? fmt::format("{} ({:.4g})", bytes, *decision.cache_share) : bytes;
}

}  // namespace

void AddFormColumns(TextTable* table) {
  for (const char* const name : {"ms if pulled", "if pooled", "on workers"}) {
    table->columns.push_back({.name = name, .is_number = true});
  }
}

void AddFormCells(const TableDecision& decision, std::vector<std::string>* row) {
  for (const std::optional<double>& ms :
       {decision.rows_ms, decision.bags_ms, decision.workers_ms}) {
    row->push_back(ms ? fmt::format("{:.{}f}", *ms, *ms < 0.1 ? 4 : 3) : "-");
  }
}

std::string AutoPlanText(const Settings& settings, const PlannedRun& planned) {
  std::string text = fmt::format(
      "found by {}, {} predicted: {:.2f} ms a step, {} binds; load of PS nodes {:.3f} max/mean, "
      "{:.3f} at least\n\n",
      planned.method, Counted(planned.plans_tried, "plan"), planned.cost.ms,
      BoundName(planned.cost.bound),
      planned.mean_load > 0 ? planned.largest_load / planned.mean_load : 1.0,
      planned.mean_load > 0 ? planned.lower_bound_load / planned.mean_load : 1.0);
  TextTable table = {.columns = {{.name = "table"},
                                 {.name = "placed as"},
                                 {.name = "slices", .is_number = true},
                                 {.name = "pooled by"},
                                 {.name = "hot rows", .is_number = true},
                                 {.name = "cache", .is_number = true}},
                     .rows = {}};
  AddFormColumns(&table);
  for (const TableSpec& spec : settings.embedding.physical) {
    const TableDecision& decision = planned.tables[Raw(spec.id)];
    table.rows.push_back({spec.name, decision.strategy, std::to_string(decision.pieces),
                          decision.pools_on_shards ? "shards" : "workers",
                          std::to_string(decision.hot_rows), CacheText(decision)});
    AddFormCells(decision, &table.rows.back());
  }
  return text + TableAsText(table);
}

}  // namespace rowhouse
