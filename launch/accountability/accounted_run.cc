#include "launch/accountability/accounted_run.h"

#include <algorithm>

#include "launch/bench/stop_signal.h"

namespace rowhouse {
namespace {

struct Attempt {
  std::vector<MeasuredStep> steps;  // by rising time
  Drift drift;

  double spread() const {
    return (steps.back().ms - steps.front().ms) / steps[steps.size() / 2].ms;
  }
};

Result<Attempt> Try(const TrainedConfig& config, int runs, DriftMeter* drift) {
  Attempt attempt;
  ASSIGN_OR_RETURN(const Drift before, drift->Latest());
  for (int i = 0; i < runs; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(MeasuredStep step, TrainOnce(config));
    attempt.steps.push_back(std::move(step));
  }
  ASSIGN_OR_RETURN(const Drift after, drift->Measure());
  attempt.drift = Drift::Between(before, after);
  std::ranges::sort(attempt.steps, {}, &MeasuredStep::ms);
  return attempt;
}

}  // namespace

bool AccountedRun::is_unsteady() const { return spread > kMostSpread; }

Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, DriftMeter* drift) {
  AccountedRun run;
  run.config = config;
  ASSIGN_OR_RETURN(Attempt best, Try(config, options.runs, drift));
  while (best.spread() > kMostSpread && run.attempts < options.attempts) {
    ASSIGN_OR_RETURN(Attempt again, Try(config, options.runs, drift));
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
