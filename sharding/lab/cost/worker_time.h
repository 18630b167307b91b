// WorkerTime: what a worker computes in a step, by phase. Threads: pure functions.
#pragma once

#include "sharding/lab/cost/kernel_times.h"
#include "sharding/lab/cost/step_cost.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

struct WorkerTime {
  StepPhases phases;             // all but pull, push and allreduce
  std::vector<double> table_ms;  // of each physical table: merge, pool, pool_backward
  double allreduce_floats = 0;   // dense gradients, rows on the workers, and two flags
};

// As if the worker had its cores for itself.
WorkerTime WorkerTimeOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                        uint32_t threads, KernelTimes* times);

}  // namespace rowhouse
