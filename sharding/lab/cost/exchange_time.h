// ExchangeTime: what pulls, pushes and the allreduce of a step take. Threads: pure functions.
#pragma once

#include <vector>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/cache_shares.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

// Milliseconds of cores, a step.
struct ShardWork {
  double pull = 0, push = 0;  // over all workers; answering, and taking in
  double apply = 0;           // summing pushes and updating rows, once a step
  double store = 0;           // of answering: reading rows, making room for them
  double beside = 0;          // of the store's threads, while others work
  double ahead = 0;           // of `beside`: the store's own thread, for rows that will be pulled
};

struct ExchangeTime {
  double pull = 0, push = 0;  // wall, of a worker, the following parts of it included
  double update = 0;          // of `pull`: until the shards have applied the step before
  double crowded = 0;         // of `push`: waiting for cores that updating shards use
  double store = 0;           // of `pull`: waiting for reads
  double wire = 0;            // of `pull` and `push`: waiting for the network
  double calls = 0;           // of `pull` and `push`: what they would take with one row a table
  double worker_pull = 0, worker_push = 0;  // core time of each worker
  std::vector<ShardWork> shards;
};

// Milliseconds of a worker. push_to_pull: between its push and its next pull; shards answer a push
// first, and apply it in this time. exchange: all that is neither pull nor push; the store reads
// ahead in this time.
struct TimeBeside {
  double push_to_pull = 0;
  double exchange = 0;
};

ExchangeTime ExchangeTimeOf(const Workload& workload, const Plan& plan, const ClusterShape& cluster,
                            const StepTraffic& traffic, const CacheShares& caches,
                            const TimeBeside& beside, KernelTimes* times);

// The ordered allreduce: floats go to their owners (alltoall), who add them in rank order, and come
// back (allgather), which is 2 (w - 1) / w of them each way, whatever the number of workers w.
double AllreduceMs(double floats, const ClusterShape& cluster, KernelTimes* times);

}  // namespace rowhouse
