// AccountedRun: a configuration, predicted and measured.
//
// The machine's slowdown is measured before and after its runs, and the prediction is for a machine
// as fast as it was then. Runs that differ too much from each other are made again. Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/trained_config.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

// Slowdown: the time that this machine takes now over the time that it took when it was calibrated.
// A reference run is trained again, and its phases are compared with those of then. Each ratio
// scales all kernels of its kind: products, memory, messages. 1: as fast as then; in JSON it is the
// "drift".
struct Slowdown {
  double products = 1, memory = 1, messages = 1;

  static Slowdown Since(const MeasuredStep& then, const MeasuredStep& now);
  // The mean of two, as factors are averaged.
  static Slowdown Between(const Slowdown& before, const Slowdown& after);
};

// Measures the slowdown, now and again.
class SlowdownMeter {
 public:
  // `then`: of the calibration. Null: nothing is known of slowdown, all are 1.
  explicit SlowdownMeter(const ReferenceRun* then) : then_(then) {}

  // Trains the reference again.
  Result<Slowdown> Measure();
  // What was measured last; measures if nothing was. For use right after that measurement.
  Result<Slowdown> Latest() { return latest_ ? *latest_ : Measure(); }

 private:
  const ReferenceRun* const then_;
  std::optional<Slowdown> latest_;
};

// The machine with every kernel's times multiplied.
Result<Machine> SlowedDown(const Machine& machine, const Slowdown& slowdown);

struct AccountedRun {
  TrainedConfig config;
  StepCost predicted;
  std::vector<double> runs_ms;  // medians of the runs that count
  MeasuredStep measured;        // that of the median run
  double spread = 0;            // (largest - smallest) / median of runs_ms
  int attempts = 1;             // how often the runs were made
  Slowdown slowdown;

  bool is_unsteady() const { return spread > kMaxSpread; }
  static constexpr double kMaxSpread = 0.15;  // beyond it the runs are made again
};

struct AccountOptions {
  int runs = 3;      // of an attempt
  int attempts = 4;  // at most
};
// Measures the slowdown after the run. As that before the run it takes what was measured after the
// previous one.
Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, SlowdownMeter* slowdown);

// The configurations whose predictions are judged.
std::vector<TrainedConfig> AccuracyConfigs();
// Two that are quick, for tests of all around them.
std::vector<TrainedConfig> QuickConfigs();

// Ranking test: plans of one workload, of which the model is to choose the fastest.
struct RankingTest {
  std::string name;
  std::vector<TrainedConfig> plans;  // at least three
};
std::vector<RankingTest> RankingTests();

}  // namespace rowhouse
