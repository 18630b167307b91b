// CacheHitRatio: the hit ratio of the row cache over a trace, used as a shard uses it: a batch of
// accesses is a step, its rows are pinned and their lookups counted, and evicted records keep their
// trailers, as in the store. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "launch/bench/access_trace.h"
#include "ps/cache/row_access_counts.h"

namespace rowhouse {

struct CacheRun {
  size_t slots = 1;
  uint32_t ways = 16;  // 1: fully associative
  std::string policy;
  std::shared_ptr<const RowAccessCounts> access_counts = nullptr;  // for the policy; null: none
  size_t prefetched_batches = 0;  // batches after the current one that are prefetched
  size_t batch_accesses = 0;      // 0: a tenth of the slots, which few runs exceed

  size_t batch() const {
    if (batch_accesses > 0) return batch_accesses;
    return slots < 160 ? 16 : slots / 10;
  }
};

// The share of accesses that hit. A row that finds no slot, as the batch needs all, is a miss.
double CacheHitRatio(const AccessTrace& trace, const CacheRun& run);

// Yardsticks of caches: textbook policies, exact, over a whole trace, in a fully associative cache
// that begins empty. All return the share of accesses that hit, and require slots > 0.

// Evicts the least recently used row.
double LruHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row with the fewest lookups since the trace began, in the cache or not ("perfect"
// LFU); of several the least recently used.
double LfuHitRatio(const AccessTrace& trace, size_t slots);

// Evicts the row whose next use is latest (Belady, 1966): no policy without admission does better.
double BeladyHitRatio(const AccessTrace& trace, size_t slots);

}  // namespace rowhouse
