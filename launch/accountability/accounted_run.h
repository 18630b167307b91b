// AccountedRun: a configuration, predicted and measured.
//
// Drift is measured before and after its runs, and the prediction is for a machine as fast as it
// was then. Runs that differ from each other by too much are made again.
// Threads: one.
#pragma once

#include <optional>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/reference_runs.h"
#include "launch/calibrate/trained_config.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

// Drift: how much slower or faster this machine is now than when it was calibrated: the phases of a
// reference run, trained again, beside those of then. The ratio scales all kernels of its kind:
// products, memory, messages. Now over then; 1: as it was.
struct Drift {
  double products = 1, memory = 1, messages = 1;

  static Drift Since(const MeasuredStep& then, const MeasuredStep& now);
  // The mean of two, as factors are averaged.
  static Drift Between(const Drift& before, const Drift& after);
};

// Measures drift, now and again.
class DriftMeter {
 public:
  // `then`: of the calibration. Null: nothing is known of drift, all are 1.
  explicit DriftMeter(const ReferenceRun* then) : then_(then) {}

  // Trains the reference again.
  Result<Drift> Measure();
  // What was measured last, if anything was: for what follows at once.
  Result<Drift> Latest() { return latest_ ? *latest_ : Measure(); }

 private:
  const ReferenceRun* const then_;
  std::optional<Drift> latest_;
};

// The machine with every kernel's times multiplied.
Result<Machine> Drifted(const Machine& machine, const Drift& drift);

struct AccountedRun {
  TrainedConfig config;
  StepCost predicted;
  std::vector<double> runs_ms;  // medians of the runs that count
  MeasuredStep measured;        // that of the median run
  double spread = 0;            // (largest - smallest) / median of runs_ms
  int attempts = 1;             // how often the runs were made
  Drift drift;

  bool is_unsteady() const;  // the spread stayed above kMaxSpread
};

inline constexpr int kRuns = 3;
inline constexpr int kMaxAttempts = 4;  // repeated three times at most
inline constexpr double kMaxSpread = 0.15;

struct AccountOptions {
  int runs = kRuns;  // of an attempt
  int attempts = kMaxAttempts;
};
// The drift after the run before is that before this one.
Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, DriftMeter* drift);

}  // namespace rowhouse
