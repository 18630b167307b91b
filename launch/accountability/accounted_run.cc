#include "launch/accountability/accounted_run.h"

#include <algorithm>

#include "launch/bench/stop_signal.h"
#include "launch/lab/workload_of_run.h"
#include "launch/plan/plan_of_run.h"

namespace rowhouse {
namespace {

struct Attempt {
  std::vector<MeasuredStep> steps;  // by rising time
  Drift drift;

  double spread() const {
    return (steps.back().ms - steps.front().ms) / steps[steps.size() / 2].ms;
  }
};

Result<Attempt> Try(const AccountedConfig& config, const AccountOptions& options) {
  Attempt attempt;
  ASSIGN_OR_RETURN(const Drift before, MeasureDrift(options.reference));
  for (int i = 0; i < options.runs; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(MeasuredStep step, TrainOnce(config));
    attempt.steps.push_back(std::move(step));
  }
  ASSIGN_OR_RETURN(const Drift after, MeasureDrift(options.reference));
  attempt.drift = Drift::Between(before, after);
  std::ranges::sort(attempt.steps, {}, &MeasuredStep::ms);
  return attempt;
}

}  // namespace

bool AccountedRun::is_unsteady() const { return spread > kMostSpread; }

Result<StepCost> PredictConfig(const AccountedConfig& config, const Machine& machine) {
  ASSIGN_OR_RETURN(const Settings settings, config.MakeSettings());
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(settings, config.ps, settings.cluster.shards));
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, config.workers));
  workload.steps = config.steps;
  return PredictStep(workload, plan,
                     ClusterOf(settings, config.ps, settings.cluster.shards, config.workers),
                     machine);
}

Result<AccountedRun> Account(const AccountedConfig& config, const Machine& machine,
                             const AccountOptions& options) {
  AccountedRun run;
  run.config = config;
  ASSIGN_OR_RETURN(Attempt best, Try(config, options));
  while (best.spread() > kMostSpread && run.attempts < options.attempts) {
    ASSIGN_OR_RETURN(Attempt again, Try(config, options));
    if (again.spread() < best.spread()) best = std::move(again);
    ++run.attempts;
  }
  for (const MeasuredStep& step : best.steps) run.runs_ms.push_back(step.ms);
  run.measured = best.steps[best.steps.size() / 2];
  run.spread = best.spread();
  run.drift = best.drift;
  ASSIGN_OR_RETURN(const Machine now, Drifted(machine, best.drift));
  ASSIGN_OR_RETURN(run.predicted, PredictConfig(config, now));
  return run;
}

}  // namespace rowhouse
