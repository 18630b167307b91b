// MemoryTraffic: the bytes of rows that a step moves between memory and the processors' caches, in
// lines of 64 bytes. Divided by the bandwidth of memory they are the least time in which rows could
// be served: a step that takes much longer waits for something else.
//
// As if no row were in a cache of the processor when the step begins. Tables so small that they
// stay there move less; ids, messages and the dense part are not counted, but for bags. Threads:
// pure functions.
#pragma once

#include <vector>

#include "sharding/cost/cpu_lookup.h"
#include "sharding/cost/machine.h"
#include "sharding/cost/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// Of all ranks, a step, in bytes.
struct MemoryTraffic {
  double pull = 0;    // rows that shards read to send them
  double pool = 0;    // rows, ids and sums of bags, forward; gradients of rows, backward
  double update = 0;  // weights and optimizer state, read and written
  // Gradients of rows on the workers, set to zero and summed over workers: all of them, whichever
  // rows a step looks up.
  double sum = 0;

  // The same bytes by who moves them.
  std::vector<double> of_shard;
  double of_worker = 0;  // of each: they are alike

  double total() const { return pull + pool + update + sum; }
};

// Requires what TrafficOfStep requires.
MemoryTraffic MemoryTrafficOf(const Workload& workload, const Plan& plan, const CpuMemory& memory);

// Of the host that moves most, as ranks are dealt to hosts: the PS nodes in turn, then the workers.
double BytesOfBusiestHost(const MemoryTraffic& traffic, const ClusterShape& cluster);

// By the constants dram_gbs and llc_bytes; what is not measured is as CpuMemory has it.
CpuMemory CpuMemoryOf(const Machine& machine);

}  // namespace rowhouse
