// AccountedRun: a configuration, predicted and measured.
//
// Between its runs the machine's drift is measured, and the prediction is by a machine as fast as
// it was around the runs. Where the runs differ from each other by too much, they are made again.
// Threads: one.
#pragma once

#include <vector>

#include "common/status.h"
#include "launch/accountability/accounted_config.h"
#include "launch/accountability/drift.h"
#include "launch/accountability/train_run.h"
#include "sharding/cost/step_cost.h"

namespace rowhouse {

struct AccountedRun {
  AccountedConfig config;
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
  const ReferenceRun* reference = nullptr;  // of MeasureDrift
};
Result<AccountedRun> Account(const AccountedConfig& config, const Machine& machine,
                             const AccountOptions& options);

// What the model says of the configuration on this machine.
Result<StepCost> PredictConfig(const AccountedConfig& config, const Machine& machine);

}  // namespace rowhouse
