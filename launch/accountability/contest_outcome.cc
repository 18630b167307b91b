#include "launch/accountability/contest_outcome.h"

#include <algorithm>

#include "launch/accountability/accounted_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/point_samples.h"

namespace rowhouse {
namespace {

std::vector<double> RatiosOfTurns(const ContestOutcome::Plan& a, const ContestOutcome::Plan& b) {
  std::vector<double> ratios;
  for (size_t turn = 0; turn < std::min(a.runs_ms.size(), b.runs_ms.size()); ++turn) {
    ratios.push_back(a.runs_ms[turn] / b.runs_ms[turn]);
  }
  return ratios;
}

}  // namespace

double ContestOutcome::Plan::measured_ms() const { return Percentile(runs_ms, 0.5); }

const ContestOutcome::Plan& ContestOutcome::chosen() const {
  return *std::ranges::min_element(plans, {}, &Plan::predicted_ms);
}

double ContestOutcome::RatioTo(const Plan& plan) const {
  return Percentile(RatiosOfTurns(chosen(), plan), 0.5);
}

// Of a normal distribution the quartiles are 1.35 standard deviations apart, and a median is off by
// 1.25 standard errors of the mean.
double ContestOutcome::error() const {
  const std::vector<double> ratios = RatiosOfTurns(chosen(), rival());
  const double deviation = (Percentile(ratios, 0.75) - Percentile(ratios, 0.25)) / 1.35;
  return 1.25 * deviation / std::sqrt(static_cast<double>(ratios.size())) / Percentile(ratios, 0.5);
}

const ContestOutcome::Plan& ContestOutcome::fastest() const {
  const Plan& other = rival();
  return RatioTo(other) > 1 ? other : chosen();
}

const ContestOutcome::Plan& ContestOutcome::rival() const {
  const Plan &best = chosen(), *rival = nullptr;
  for (const Plan& plan : plans) {
    if (&plan == &best) continue;
    if (rival == nullptr || RatioTo(plan) > RatioTo(*rival)) rival = &plan;
  }
  return rival == nullptr ? best : *rival;
}

bool ContestOutcome::is_good() const { return regret() <= kGoodRegret; }

Result<ContestOutcome> HoldContest(const PlanContest& contest, const Machine& machine,
                                   DriftMeter* drift) {
  ContestOutcome choice{.name = contest.name, .plans = {}};
  ASSIGN_OR_RETURN(const Drift since, drift->Measure());
  ASSIGN_OR_RETURN(const Machine now, Drifted(machine, since));
  for (const TrainedConfig& config : contest.plans) {
    ASSIGN_OR_RETURN(const StepCost cost, PredictConfig(config, now));
    choice.plans.push_back({.name = config.name, .predicted_ms = cost.ms, .runs_ms = {}});
  }
  for (int run = 0; run < kMostContestRuns; ++run) {
    if (run >= kLeastContestRuns && choice.is_told()) break;
    for (size_t p = 0; p < contest.plans.size(); ++p) {
      RETURN_IF_ERROR(StopSignal::Check());
      ASSIGN_OR_RETURN(const MeasuredStep step, TrainOnce(contest.plans[p]));
      choice.plans[p].runs_ms.push_back(step.ms);
    }
  }
  return choice;
}

}  // namespace rowhouse
