// Drift: how much slower or faster this machine is now than when it was calibrated. A few kernels
// are measured again, in a second, at one point each; the ratio to the calibration scales all
// kernels of their kind: products, memory, messages.
//
// Threads: one.
#pragma once

#include <array>
#include <string>

#include "common/status.h"
#include "sharding/cost/machine.h"

namespace rowhouse {

// Now over then, of each kind; 1: as it was.
struct Drift {
  double products = 1, memory = 1, messages = 1;

  // The mean of two, as factors are averaged.
  static Drift Between(const Drift& before, const Drift& after);
};

// Measures it. Kernels that the machine lacks count as 1.
Result<Drift> MeasureDrift(const Machine& machine);

// The machine with every kernel's times multiplied.
Result<Machine> Drifted(const Machine& machine, const Drift& drift);

}  // namespace rowhouse
