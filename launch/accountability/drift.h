// Drift: how much slower or faster this machine is now than when it was calibrated: the phases of a
// reference run, trained again, beside those of then. The ratio scales all kernels of its kind:
// products, memory, messages.
//
// Threads: one.
#pragma once

#include <optional>

#include "common/status.h"
#include "launch/calibrate/reference_runs.h"
#include "sharding/cost/machine.h"

namespace rowhouse {

// Now over then, of each kind; 1: as it was.
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

}  // namespace rowhouse
