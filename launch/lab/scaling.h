// A run simulated on clusters of many sizes: every rank on a host of its own (SweepScaling), or
// hosts that are alike, each with a PS node and workers (SweepHosts).
//
// Threads: pure, but for reading files of the settings.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "launch/prediction/lab_run.h"
#include "sharding/lab/simulator/simulator.h"

namespace rowhouse {

struct ScalingOptions {
  std::vector<uint32_t> ps, workers;   // ascending; of SweepScaling
  std::vector<uint32_t> hosts = {};    // ascending; of SweepHosts
  std::vector<double> networks_gbits;  // of each host, each way
  // Weak: samples of each worker. Strong: samples of all of them together, as configured.
  uint64_t samples_per_worker = 2048;
  double round_trip_us = 20;  // between hosts
  SimulatorOptions simulator;
};

struct ScalingPoint {
  bool is_weak = false;
  double network_gbits = 0;
  uint32_t hosts = 1, ps = 1, workers = 1;
  uint32_t threads = 1;  // compute threads of a worker
  uint64_t samples = 0;  // of a step
  SimulatedRun run;
  StepCost predicted;  // without queues and waiting
};

// Whether each point gets a plan of its own, by the planner; otherwise the strategy that is
// configured places the tables on each number of PS nodes.
bool PlansEachPoint(const LabRun& run);

// Each combination, but for strong ones with more workers than samples; weak ones first, then by
// network, PS nodes and workers. A trace's miss-ratio curves are of steps of the configured size,
// so that strong points alone use them; weak points take hit rates from the spread of the traced
// ids. The lookups of a sample are those of the trace at every point. kUsage for a run with a plan
// file, and as PlanOf, AutoPlanOf and Simulate.
Result<std::vector<ScalingPoint>> SweepScaling(const LabRun& run, const ScalingOptions& options);

// Strong scaling: the configured step on each number of hosts, by network, then hosts. A host has a
// PS node, and 1, 2, 4, ... workers with equal parts of its cores as compute threads: as many as
// take the shortest step. Errors as of SweepScaling.
Result<std::vector<ScalingPoint>> SweepHosts(const LabRun& run, const ScalingOptions& options);

}  // namespace rowhouse
