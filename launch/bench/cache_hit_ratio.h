// CacheHitRatio: the hit ratio of the system's own row cache over a trace, driven as a shard drives
// it: a batch of accesses is a step, rows are pinned for it and count their lookups, and a record
// that leaves keeps its trailer, as in the store.
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
  uint32_t ways = 16;  // 1: any slot
  std::string policy;
  std::shared_ptr<const RowAccessCounts> access_counts = nullptr;  // null: not known to the policy
  size_t prefetched_batches = 0;  // behind the one under way, whose rows are announced

  // Accesses: a tenth of the slots. More is pinned so than in training, where 20,000 ids are a 25th
  // of half a million rows.
  size_t batch() const { return slots < 160 ? 16 : slots / 10; }
};

// A row that finds no slot, because all are needed by the batch, is a miss.
double CacheHitRatio(const AccessTrace& trace, const CacheRun& run);

}  // namespace rowhouse
