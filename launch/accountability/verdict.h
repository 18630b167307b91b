// Verdict: the errors of all predictions beside their targets.
//
// Errors are |predicted / measured - 1|; the error of a hit rate is the difference. Configurations
// with more busy threads than cores, and unsteady ones, are reported apart and count in no error of
// time. Threads: pure functions.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/accountability/accounted_run.h"
#include "launch/calibrate/calibration.h"
#include "launch/figures/figures.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/prediction_error.h"

namespace rowhouse {

// RankingOutcome: predicted and measured times of several plans of one workload; tests whether the
// plan with the least prediction is (nearly) the fastest. The plans run in turn, so that a slow
// minute slows all alike, until the answer is certain or each plan has run kMaxRankingRuns times.
struct RankingOutcome {
  struct Plan {
    std::string name;
    double predicted_ms = 0;
    std::vector<double> runs_ms;

    double measured_ms() const;  // median
  };

  std::string name;  // of the workload
  std::vector<Plan> plans;

  const Plan& chosen() const;   // predicted to be the fastest
  const Plan& fastest() const;  // measured: the faster of chosen() and rival()
  const Plan& rival() const;    // measured: the fastest plan that was not chosen (if there is one)
  // Median over turns of chosen time / plan time. A turn runs every plan once, so a slow turn
  // cancels.
  double RatioTo(const Plan& plan) const;
  double regret() const { return RatioTo(fastest()); }  // 1: the chosen one is the fastest
  bool is_good() const { return regret() <= kGoodRegret; }
  double error() const;  // standard error of the ratio to the rival, as a share of it
  // Whether the runs suffice to say on which side of kGoodRegret the ratio to the rival lies. Above
  // it the rival is the fastest plan, and that ratio is the regret. In JSON: "is_told".
  bool is_certain() const { return std::abs(kGoodRegret / RatioTo(rival()) - 1) > error(); }

  static constexpr double kGoodRegret = 1.05;
};

// Runs of each plan.
inline constexpr int kMinRankingRuns = 4, kMaxRankingRuns = 8;

Result<RankingOutcome> RunRankingTest(const RankingTest& test, const Machine& machine,
                                      SlowdownMeter* slowdown);

struct Accountability {
  Calibration calibration;
  std::vector<AccountedRun> runs;
  std::vector<RankingOutcome> choices;
  bool is_quick = false;  // small runs, of which times are not judged
  bool is_part = false;   // not all configurations and ranking tests were asked for
  double seconds = 0;     // that all of it took
};

// Whether a run's step time counts.
bool CountsInTime(const AccountedRun& run);

PredictionError StepTimeError(std::span<const AccountedRun> runs);
PredictionError BytesError(std::span<const AccountedRun> runs);
PredictionError LoadError(std::span<const AccountedRun> runs);  // rows pulled of each PS node
double LargestHitRateError(std::span<const AccountedRun> runs);

struct Target {
  std::string name;
  double value = 0, limit = 0;
  bool is_least = false;  // the value is to be at least the limit, not at most
  bool is_share = true;   // printed in percent

  bool is_met() const { return is_least ? value >= limit : value <= limit; }
};
std::vector<Target> TargetsOf(const Accountability& all);

// A line a configuration and a plan, the kernels, then the targets.
// {configs, gmae: {step_time, bytes, load, kernels}, p90: {...}, rows: [{name, ps, workers, yaml,
//  step_ms {predicted, measured, runs, spread}, wire_bytes, hit_rate, ps_nodes, phases_ms, drift,
//  attempts, counts, is_oversubscribed, is_unsteady}], choices, kernels, targets, seconds}
Figures AccountabilityFigures(const Accountability& all);

}  // namespace rowhouse
