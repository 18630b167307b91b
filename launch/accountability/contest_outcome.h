// ContestOutcome: several plans of one workload, predicted and measured: would the model have
// chosen well? Runs of the plans take turns, so that a slow minute slows all alike, until they tell
// whether the choice was good, or too many were made.
//
// Threads: one.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/accountability/accounted_configs.h"
#include "launch/accountability/drift.h"
#include "sharding/cost/machine.h"

namespace rowhouse {

struct ContestOutcome {
  struct Plan {
    std::string name;
    double predicted_ms = 0;
    std::vector<double> runs_ms;

    double measured_ms() const;  // median
    double error() const;        // standard error of the median, as a share of it
  };

  std::string name;  // of the workload
  std::vector<Plan> plans;

  const Plan& chosen() const;   // predicted to be the fastest
  const Plan& fastest() const;  // measured
  const Plan& rival() const;    // measured, the fastest but the chosen one (if there is another)
  // The chosen plan's time over the fastest one's; 1: it is the fastest.
  double regret() const { return chosen().measured_ms() / fastest().measured_ms(); }
  bool is_good() const;  // within kGoodRegret
  // Standard error of the chosen plan's time over its rival's, as a share of it.
  double error() const { return std::hypot(chosen().error(), rival().error()); }
  // Runs tell on which side of kGoodRegret that ratio is: beyond it the rival is the fastest and
  // the ratio is the regret.
  bool is_told() const {
    const double ratio = chosen().measured_ms() / rival().measured_ms();
    return std::abs(kGoodRegret / ratio - 1) > error();
  }

  static constexpr double kGoodRegret = 1.05;
};

// Runs of each plan.
inline constexpr int kLeastContestRuns = 4, kMostContestRuns = 8;

Result<ContestOutcome> HoldContest(const PlanContest& contest, const Machine& machine,
                                   DriftMeter* drift);

}  // namespace rowhouse
