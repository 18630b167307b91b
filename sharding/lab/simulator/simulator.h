// Simulator: discrete events of a training run on a cluster that need not exist: workers compute,
// ask, wait and sum; PS nodes answer in the order of arrival; links have a bandwidth and a delay.
//
// Events are per rank and phase, not per message. Equal seeds give equal results. Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

struct SimulatorOptions {
  uint64_t steps = 100;
  uint64_t seed = 1;
  double jitter = 0.05;  // standard deviation of a phase's time, as a share of it (log-normal)
};

struct SimulatedRank {
  double busy_share = 0;     // of the run's time
  double bytes = 0;          // a step, both ways
  double longest_queue = 0;  // requests
  double mean_wait_ms = 0;   // of a request, while others are served
  double load = 0;           // rows a step
};

struct SimulatedRun {
  double median_step_ms = 0, p95_step_ms = 0, mean_step_ms = 0;
  double samples_per_second = 0;
  double wire_bytes = 0;  // a step
  StepPhases phases;      // mean over workers
  std::vector<SimulatedRank> ps, workers;
  uint64_t events = 0;
};

struct StepWork;

// Simulates a run whose work per step is known already. Requires options in the ranges that
// Simulate accepts.
SimulatedRun SimulatedRunOf(const StepWork& work, const SimulatorOptions& options);

// 2 to 4,096 ranks. kUsage for other numbers and for options out of range.
Result<SimulatedRun> Simulate(const Workload& workload, const Plan& plan,
                              const ClusterShape& cluster, const Machine& machine,
                              const SimulatorOptions& options = {});

}  // namespace rowhouse
