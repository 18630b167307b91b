// RowCachePeer: evicts before it inserts, as the cache does that reference vectors were taken from.
#pragma once

#include "ps/cache/row_cache.h"

namespace rowhouse {

class RowCachePeer {
 public:
  // Evicts the row that a Claim for `row` would evict if no slot were empty. False if no row may
  // leave. Requires that the cache is no direct array.
  static bool Evict(RowCache& cache, RowId row, uint64_t step, CacheVictim* victim) {
    *victim = {};
    cache.times_.AdvanceTo(step, cache.table_);
    const SlotTable::Place place = cache.table_.PlaceOf(row);
    const RowCache::Slot slot = cache.victims_.Choose(cache.searched(), place, step, step);
    if (slot == RowCache::kNone) return false;
    *victim = cache.RowIn(slot);
    cache.table_.TakeOut(slot);
    return true;
  }
};

}  // namespace rowhouse
