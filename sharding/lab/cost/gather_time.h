// What gathering the rows of a pull takes a shard beyond what the kernel "pull" measures, whose
// rows exist and have places of their own. A row that no step has seen first gets its initial
// values; in a cache that is smaller than its slice, each row is searched for and its use recorded.
//
// By the kernels "placed_pull", "placed_pull_new", "cached_pull" and "cached_pull_new" (rows, dim):
// differences from the first. A machine without them: 0. Threads: pure functions.
#pragma once

#include <vector>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

// Milliseconds of each shard's core in the middle step of the run, over all workers.
std::vector<double> FurtherGatherMs(const Workload& workload, const Plan& plan,
                                    const StepTraffic& traffic, const CacheShares& caches,
                                    KernelTimes* times);

}  // namespace rowhouse
