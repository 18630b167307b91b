// ContestOutcome: several plans of one workload, predicted and measured: would the model have
// chosen well? Runs of the plans take turns, so that a slow minute slows all alike.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/accountability/accounted_config.h"
#include "launch/accountability/reference_runs.h"
#include "sharding/cost/machine.h"

namespace rowhouse {

struct ContestOutcome {
  struct Plan {
    std::string name;
    double predicted_ms = 0;
    std::vector<double> runs_ms;

    double measured_ms() const;  // median
  };

  std::string name;  // of the workload
  std::vector<Plan> plans;

  const Plan& chosen() const;   // predicted to be the fastest
  const Plan& fastest() const;  // measured
  // The chosen plan's time over the fastest one's; 1: it is the fastest.
  double regret() const { return chosen().measured_ms() / fastest().measured_ms(); }
  bool is_good() const;  // within kGoodRegret
};

inline constexpr double kGoodRegret = 1.05;

Result<ContestOutcome> HoldContest(const PlanContest& contest, const Machine& machine,
                                   const ReferenceRun* reference, int runs = 3);

}  // namespace rowhouse
