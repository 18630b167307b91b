// AccountedRun: a configuration, predicted and measured.
//
// Between its runs the machine's drift is measured, and the prediction is by a machine as fast as
// it was around the runs. Where the runs differ from each other by too much, they are made again.
// Threads: one.
#pragma once

#include <vector>

#include "common/status.h"
#include "launch/accountability/drift.h"
#include "launch/calibrate/train_run.h"
#include "launch/calibrate/trained_config.h"
#include "sharding/cost/step_cost.h"

namespace rowhouse {

struct AccountedRun {
  TrainedConfig config;
  StepCost predicted;
  std::vector<double> runs_ms;  // medians of the runs that count
  MeasuredStep measured;        // that of the median run
  double spread = 0;            // (largest - smallest) / median of runs_ms
  int attempts = 1;             // how often the runs were made
  Drift drift;

  bool is_unsteady() const;  // the spread stayed above kMostSpread
};

inline constexpr int kRuns = 3;
inline constexpr int kMostAttempts = 4;  // repeated three times at most
inline constexpr double kMostSpread = 0.15;

struct AccountOptions {
  int runs = kRuns;  // of an attempt
  int attempts = kMostAttempts;
};
// The drift after the run before is that before this one.
Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, DriftMeter* drift);

}  // namespace rowhouse
