// MemoryTraffic: the bytes of rows that a step moves between memory and the processors' caches, in
// lines of 64 bytes. Divided by the bandwidth of memory they are the least time in which rows could
// be served: a step that takes much longer waits for something else.
//
// Assumes that no row is in the processor's caches when the step begins; tables so small that they
// stay there move less. Of ids only those of bags are counted; messages and the dense part are not.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// What pooled lookups cost on a CPU by a roofline: bytes in lines of 64 over the bandwidth of
// memory and of the last-level cache, and the misses that a core can have under way. It is the
// model of sharding/lab/gpu/lookup.h with lines for sectors, the last-level cache for L2 and
// threads for multiprocessors; it needs no measured kernel, so it says what a machine could do at
// best.
struct CpuLookup {
  double samples = 1;  // bags of each table
  double rows = 1;     // of each table
  double tables = 1;
  double bag_length = 1;
  uint32_t dim = 1;
  uint32_t element_bytes = 4;  // of a stored row; pooled vectors are f32, ids 8 bytes
  uint32_t threads = 1;
  // Expected, of each table; nullopt: ids are spread evenly.
  std::optional<double> distinct_rows = std::nullopt;
};

struct CpuMemory {
  double dram_gbs = 20;
  double llc_gbs = 400;
  double llc_bytes = 32 << 20;
  double latency_ns = 90;          // of a miss
  double outstanding_misses = 10;  // of a core
  double call_us = 0;              // fixed cost of a call
};

struct CpuLookupCost {
  double us = 0;          // the largest of the three, and the call
  double dram_us = 0;     // rows that miss, ids, results
  double llc_us = 0;      // rows that hit
  double latency_us = 0;  // of the misses
  double miss_rows = 0;
  double dram_bytes = 0;  // in whole lines
};

CpuLookupCost CpuLookupForward(const CpuLookup& lookup, const CpuMemory& memory);

// `bytes` that begin at a line, in whole lines.
double CpuLineBytes(double bytes);

// Read and written by the update of this many distinct rows after gradients were merged.
double CpuUpdateBytes(double distinct_rows, uint32_t row_bytes, uint32_t state_bytes);

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

// Bytes of the host that moves most. Ranks are placed on hosts in turn, PS nodes first, then
// workers.
double BytesOfBusiestHost(const MemoryTraffic& traffic, const ClusterShape& cluster);

// By the constants dram_gbs and llc_bytes; what is not measured is as CpuMemory has it.
CpuMemory CpuMemoryOf(const Machine& machine);

}  // namespace rowhouse
