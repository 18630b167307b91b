#include "launch/prediction/auto_plan.h"

#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"

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
  Result<PlannedRun> planned = PlanFor(workload, cluster, machine,
                                       {.hot_rows = settings.sharding.options.hot_rows,
                                        .may_pool_on_shards = settings.training.lookup_l2 == 0.0,
                                        .ps_row_bytes = rows_mb << 20});
  if (planned.status().code() != StatusCode::kUsage) return planned;
  const Status refusal =
      UsageError("{}{}", planned.status().message(), LimitsText(cluster, machine, rows_mb));
  // Of a lab's candidate no --plan was given.
  return settings.sharding.plan.empty() ? refusal : refusal.Annotate(given);
}

Result<PlannedRun> AutoPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const AccessCounts* measured) {
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

void AddFormColumns(FigureTable* table) {
  const auto text = [](double ms) { return fmt::format("{:.{}f}", ms, ms < 0.1 ? 4 : 3); };
  for (const char* const title : {"ms if pulled", "if pooled", "on workers"}) {
    table->columns.push_back({.title = title, .text = text});
  }
}

void AddFormCells(const TableDecision& decision, FigureTable::Row* row) {
  for (const auto& ms : {decision.rows_ms, decision.bags_ms, decision.workers_ms}) {
    row->push_back(FigureOrNull(ms));
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
  FigureTable table{.columns = {{.title = "table"},
                                {.title = "placed as"},
                                {.title = "slices", .text = FixedText<0>},
                                {.title = "pooled by"},
                                {.title = "hot rows", .text = FixedText<0>},
                                {.title = "cache", .text = BytesText}}};
  AddFormColumns(&table);
  for (const TableSpec& spec : settings.embedding.physical) {
    const TableDecision& decision = planned.tables[Raw(spec.id)];
    table.rows.push_back({spec.name, decision.strategy, decision.pieces,
                          decision.pools_on_shards ? "shards" : "workers", decision.hot_rows,
                          CacheText(decision)});
    AddFormCells(decision, &table.rows.back());
  }
  return text + TableAsText(table);
}

// ---- Whether a run takes it ---------------------------------------------------------------------

namespace {

// "20 tables row_wise, pooled by workers; 1 table replicated".
std::string DecisionsText(const PlannedRun& planned) {
  std::map<std::string, size_t> tables;
  for (const TableDecision& one : planned.tables) {
    std::string how = one.strategy;
    if (one.pools_on_shards) how += ", pooled by shards";
    if (one.hot_rows > 0) how += ", its hottest rows on the workers";
    ++tables[how];
  }
  std::vector<std::string> parts;
  for (const auto& [how, count] : tables) {
    parts.push_back(fmt::format("{} {}", Counted(count, "table"), how));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string ConfiguredText(const Settings& settings) {
  return fmt::format("strategy {}{}", settings.sharding.strategy,
                     settings.sharding.pool_on == "shards" ? ", pooled by shards" : "");
}

// Why times of this machine only propose; "": they decide.
std::string WhyOnlyProposed(const CalibratedMachine& machine) {
  if (machine.is_measured_here) return "";
  if (!machine.warning.empty()) return machine.warning;
  return "--calibration=typical is no measurement of this host";
}

}  // namespace

Result<Plan> ConfiguredPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node) {
  Settings configured = settings;
  configured.sharding.plan.clear();
  ForgetIdleStrategySettings({}, &configured);
  return PlanOf(configured, nodes, shards_per_node);
}

Result<ChosenPlan> ChoosePlan(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const RunHosts& hosts) {
  ASSIGN_OR_RETURN(const Workload workload, WorkloadOf(settings, workers));
  ASSIGN_OR_RETURN(const CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  ClusterShape cluster = ClusterOf(settings, nodes, shards_per_node, workers);
  cluster.hosts = hosts.hosts;
  cluster.cores_per_host = hosts.cores;
  ASSIGN_OR_RETURN(PlannedRun planned, AutoPlanOf(settings, workload, cluster, machine.machine));
  RETURN_IF_ERROR(CheckPlanOfRun(settings, planned.plan, shards_per_node));

  const std::string proposal =
      fmt::format("--plan={}: {:.2f} ms a step predicted for {}", settings.sharding.plan,
                  planned.cost.ms, DecisionsText(planned));
  const std::string name = ConfiguredText(settings);
  Result<Plan> configured = ConfiguredPlanOf(settings, nodes, shards_per_node);
  if (!configured.ok()) {
    return ChosenPlan{.plan = std::move(planned.plan),
                      .promise = std::nullopt,
                      .text = fmt::format("{}\n  used, because {} cannot be: {}\n", proposal, name,
                                          configured.status().message())};
  }
  ASSIGN_OR_RETURN(const StepCost cost,
                   PredictStep(workload, configured.value(), cluster, machine.machine));
  const double saving = 1 - planned.cost.ms / cost.ms;
  const std::string only_proposed = WhyOnlyProposed(machine);
  if (only_proposed.empty() && saving > kModelError) {
    return ChosenPlan{
        .plan = std::move(planned.plan),
        .promise = PlanPromise{.ms = planned.cost.ms, .configured_ms = cost.ms, .configured = name},
        .text = fmt::format("{}\n  used instead of {} ({:.2f} ms predicted)\n", proposal, name,
                            cost.ms)};
  }
  const std::string uses =
      fmt::format("\n  the run uses {} as configured ({:.2f} ms predicted)", name, cost.ms);
  return ChosenPlan{
      .plan = std::move(configured).value(),
      .promise = std::nullopt,
      .text = only_proposed.empty()
                  ? fmt::format("{}{}: a saving of {:.0f} % is within the {:.0f} % that "
                                "predictions err by\n",
                                proposal, uses, 100 * saving, 100 * kModelError)
                  : fmt::format("{}\n  only proposed: {}{}; a plan file of rowhouse plan --plan={} "
                                "--out=FILE is used as it is\n",
                                proposal, only_proposed, uses, settings.sharding.plan)};
}

std::string BrokenPromiseText(const PlanPromise& promise, double median_step_ms) {
  if (median_step_ms <= promise.ms * (1 + kModelError)) return "";
  return fmt::format(
      "slower than promised: the planner's plan was used for {:.2f} ms a step instead of {:.2f} "
      "with {}, and the median step took {:.2f} ms. Other work on the hosts or an old calibration "
      "may be why; train without --plan=auto to compare, rowhouse bench calibrate measures again\n",
      promise.ms, promise.configured_ms, promise.configured, median_step_ms);
}

}  // namespace rowhouse
