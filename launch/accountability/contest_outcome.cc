#include "launch/accountability/contest_outcome.h"

#include <algorithm>

#include "launch/accountability/accounted_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/point_samples.h"

namespace rowhouse {

double ContestOutcome::Plan::measured_ms() const { return Percentile(runs_ms, 0.5); }

const ContestOutcome::Plan& ContestOutcome::chosen() const {
  return *std::ranges::min_element(plans, {}, &Plan::predicted_ms);
}

const ContestOutcome::Plan& ContestOutcome::fastest() const {
  return *std::ranges::min_element(plans, {}, &Plan::measured_ms);
}

bool ContestOutcome::is_good() const { return regret() <= kGoodRegret; }

Result<ContestOutcome> HoldContest(const PlanContest& contest, const Machine& machine,
                                   const ReferenceRun* reference, int runs) {
  ContestOutcome choice{.name = contest.name, .plans = {}};
  ASSIGN_OR_RETURN(const Drift drift, MeasureDrift(reference));
  ASSIGN_OR_RETURN(const Machine now, Drifted(machine, drift));
  for (const AccountedConfig& config : contest.plans) {
    ASSIGN_OR_RETURN(const StepCost cost, PredictConfig(config, now));
    choice.plans.push_back({.name = config.name, .predicted_ms = cost.ms, .runs_ms = {}});
  }
  for (int run = 0; run < runs; ++run) {
    for (size_t p = 0; p < contest.plans.size(); ++p) {
      RETURN_IF_ERROR(StopSignal::Check());
      ASSIGN_OR_RETURN(const MeasuredStep step, TrainOnce(contest.plans[p]));
      choice.plans[p].runs_ms.push_back(step.ms);
    }
  }
  return choice;
}

}  // namespace rowhouse
