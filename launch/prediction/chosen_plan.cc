#include "launch/prediction/chosen_plan.h"

#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "common/counted.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"

namespace rowhouse {
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
  AccessCounts counts;
  const bool are_counted = !settings.sharding.access_counts.empty();
  if (are_counted) {
    ASSIGN_OR_RETURN(counts, ReadAccessCounts(settings.sharding.access_counts));
  }
  ASSIGN_OR_RETURN(const Workload workload,
                   WorkloadOf(settings, workers, are_counted ? &counts : nullptr));
  ASSIGN_OR_RETURN(const CalibratedMachine machine, MachineOf(settings.sharding.calibration));
  ClusterShape cluster = ClusterOf(settings, nodes, shards_per_node, workers);
  cluster.hosts = hosts.hosts;
  cluster.cores_per_host = hosts.cores;
  ASSIGN_OR_RETURN(PlannedRun planned, AutoPlanOf(settings, workload, cluster, machine.machine));
  RETURN_IF_ERROR(CheckPlanOfRun(settings, planned.plan, shards_per_node));

  const std::string proposal =
      fmt::format("--plan={}: {:.2f} ms a step predicted for {}", settings.sharding.plan,
                  planned.cost.ms, DecisionsText(planned));
  Result<Plan> configured = ConfiguredPlanOf(settings, nodes, shards_per_node);
  const std::string name = ConfiguredText(settings);
  if (!configured.ok()) {
    return ChosenPlan{.plan = std::move(planned.plan),
                      .promise = std::nullopt,
                      .text = fmt::format("{}\n  used, because {} cannot be: {}\n", proposal, name,
                                          configured.status().message())};
  }
  ASSIGN_OR_RETURN(const StepCost cost,
                   PredictStep(workload, configured.value(), cluster, machine.machine));
  if (const std::string why = WhyOnlyProposed(machine); !why.empty()) {
    return ChosenPlan{
        .plan = std::move(configured).value(),
        .promise = std::nullopt,
        .text = fmt::format("{}\n  only proposed: {}\n  the run uses {} as configured ({:.2f} ms "
                            "predicted); a plan "
                            "file of rowhouse plan --plan={} --out=FILE is used as it is\n",
                            proposal, why, name, cost.ms, settings.sharding.plan)};
  }
  const double gain = 1 - planned.cost.ms / cost.ms;
  if (gain <= kModelError) {
    return ChosenPlan{
        .plan = std::move(configured).value(),
        .promise = std::nullopt,
        .text = fmt::format("{}\n  the run uses {} as configured ({:.2f} ms predicted): a gain of "
                            "{:.0f} % is within the {:.0f} % that predictions err by\n",
                            proposal, name, cost.ms, 100 * gain, 100 * kModelError)};
  }
  return ChosenPlan{
      .plan = std::move(planned.plan),
      .promise = PlanPromise{.ms = planned.cost.ms, .configured_ms = cost.ms, .configured = name},
      .text =
          fmt::format("{}\n  used instead of {} ({:.2f} ms predicted)\n", proposal, name, cost.ms)};
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
