#include "launch/accountability/verdict.h"

#include <algorithm>
#include <cmath>

#include "launch/accountability/accounted_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/kernel_judgement.h"
#include "launch/calibrate/point_samples.h"

namespace rowhouse {
namespace {

constexpr double kStepGmae = 0.15, kStepP90 = 0.35, kStepWorst = 0.60;
constexpr double kCounts = 0.02;
constexpr double kGoodChoices = 0.85;
constexpr size_t kMaxUnsteady = 2;
constexpr size_t kMinConfigs = 12, kMinContests = 8;
constexpr size_t kMinKernelPoints = 60;

class Errors {
 public:
  void Add(double predicted, double measured) {
    predicted_.push_back(predicted);
    measured_.push_back(measured);
  }
  PredictionError Of() const { return ErrorOf(predicted_, measured_); }

 private:
  std::vector<double> predicted_, measured_;
};

void AddKernels(std::span<const JudgedPoint> judged, std::vector<Target>* targets) {
  if (judged.empty()) return;
  const auto held_out =
      static_cast<double>(std::ranges::count(judged, false, &JudgedPoint::is_fitted));
  targets->push_back({.name = "points of kernels",
                      .value = static_cast<double>(judged.size()),
                      .limit = kMinKernelPoints,
                      .is_least = true,
                      .is_share = false});
  targets->push_back({.name = "share of them that fitted nothing",
                      .value = held_out / static_cast<double>(judged.size()),
                      .limit = 1.0 / 3,
                      .is_least = true});
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    targets->push_back(
        {.name = "GMAE of kernels: " + group, .value = error.all.gmae, .limit = kKernelTarget});
  }
}

// Of a part nobody expects so many.
void AddCounts(const Accountability& all, const PredictionError& error,
               std::vector<Target>* targets) {
  if (all.is_part) return;
  targets->push_back({.name = "configurations that count",
                      .value = static_cast<double>(error.count),
                      .limit = kMinConfigs,
                      .is_least = true,
                      .is_share = false});
  targets->push_back({.name = "contests of plans",
                      .value = static_cast<double>(all.choices.size()),
                      .limit = kMinContests,
                      .is_least = true,
                      .is_share = false});
}

void AddTimes(const Accountability& all, std::vector<Target>* targets) {
  const PredictionError error = StepTimeError(all.runs);
  AddCounts(all, error, targets);
  if (error.count > 0) {
    targets->push_back({.name = "GMAE of step time", .value = error.gmae, .limit = kStepGmae});
    targets->push_back(
        {.name = "90th percentile of its errors", .value = error.p90, .limit = kStepP90});
    targets->push_back({.name = "its largest error", .value = error.largest, .limit = kStepWorst});
  }
  targets->push_back(
      {.name = "unsteady configurations",
       .value = static_cast<double>(std::ranges::count_if(all.runs, &AccountedRun::is_unsteady)),
       .limit = kMaxUnsteady,
       .is_share = false});
  if (all.choices.empty()) return;
  const auto good =
      static_cast<double>(std::ranges::count_if(all.choices, &ContestOutcome::is_good));
  targets->push_back({.name = "plans chosen well",
                      .value = good / static_cast<double>(all.choices.size()),
                      .limit = kGoodChoices,
                      .is_least = true});
}

}  // namespace

bool CountsInTime(const AccountedRun& run) {
  return !run.predicted.is_oversubscribed && !run.is_unsteady();
}

PredictionError StepTimeError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs) {
    if (CountsInTime(run)) errors.Add(run.predicted.ms, run.measured.ms);
  }
  return errors.Of();
}

PredictionError BytesError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs)
    errors.Add(run.predicted.wire_bytes, run.measured.wire_bytes);
  return errors.Of();
}

PredictionError LoadError(std::span<const AccountedRun> runs) {
  Errors errors;
  for (const AccountedRun& run : runs) {
    const size_t nodes = std::min(run.predicted.ps.size(), run.measured.rows_pulled.size());
    for (size_t n = 0; n < nodes; ++n) {
      errors.Add(run.predicted.ps[n].rows_pulled, run.measured.rows_pulled[n]);
    }
  }
  return errors.Of();
}

double LargestHitRateError(std::span<const AccountedRun> runs) {
  double largest = 0;
  for (const AccountedRun& run : runs) {
    largest = std::max(largest, std::abs(run.predicted.hit_rate - run.measured.hit_rate));
  }
  return largest;
}

std::vector<Target> TargetsOf(const Accountability& all) {
  std::vector<Target> targets;
  if (!all.is_quick) AddTimes(all, &targets);
  targets.push_back(
      {.name = "largest error of bytes", .value = BytesError(all.runs).largest, .limit = kCounts});
  targets.push_back(
      {.name = "largest error of load", .value = LoadError(all.runs).largest, .limit = kCounts});
  targets.push_back({.name = "largest error of hit rate",
                     .value = LargestHitRateError(all.runs),
                     .limit = kCounts});
  if (!all.is_quick) AddKernels(all.calibration.judged, &targets);
  return targets;
}

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
  for (int run = 0; run < kMaxContestRuns; ++run) {
    if (run >= kMinContestRuns && choice.is_told()) break;
    for (size_t p = 0; p < contest.plans.size(); ++p) {
      RETURN_IF_ERROR(StopSignal::Check());
      ASSIGN_OR_RETURN(const MeasuredStep step, TrainOnce(contest.plans[p]));
      choice.plans[p].runs_ms.push_back(step.ms);
    }
  }
  return choice;
}

}  // namespace rowhouse
