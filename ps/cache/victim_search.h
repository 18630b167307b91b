// VictimSearch: which row of a cache leaves it for another.
//
// The policy chooses among the rows that may leave; of rows whose next use is known the one that is
// used last leaves, and only if no others may (Belady).
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "ps/cache/cache_policy.h"
#include "ps/cache/slot.h"
#include "ps/cache/slot_table.h"
#include "ps/cache/slot_times.h"

namespace rowhouse {

// The parts of a cache that a search reads. It may clear a next use that has passed, and the policy
// may change states.
struct SearchedCache {
  SlotTable& table;  // no direct array
  const SlotRecords& records;
  const SlotTimes& times;
};

class VictimSearch {
 public:
  // `policy` outlives the object; null: of a direct array, of which nothing is called.
  explicit VictimSearch(CachePolicy* policy);

  // The slot whose row leaves for one that is needed in `step` and whose next use is in `wanted`;
  // kNoCacheSlot if no row of its set may leave: an unpinned one whose next use is not known, or is
  // after `wanted`.
  CacheSlot Choose(const SearchedCache& cache, const SlotTable::Place& place, uint64_t step,
                   uint64_t wanted);

  // As Choose, when a cache is filled from another, where pins do not count: a row of the set may
  // leave, or `newcomer` itself (kNoCacheSlot). Rows whose next use is known stay, unless it is
  // known of all.
  CacheSlot ChooseForMove(const SearchedCache& cache, const SlotTable::Place& place,
                          CachedRow newcomer, bool is_next_use_known);

 private:
  // A fully associative cache of at most kProbeAll slots looks at all of them for a row to evict; a
  // larger one looks at the kProbe slots behind the hand.
  static constexpr uint64_t kProbeAll = 1024;
  static constexpr uint64_t kProbe = 64;

  // The row that is used last, of those whose next use is known and later than `wanted`.
  struct Farthest {
    CacheSlot slot = kNoCacheSlot;
    int64_t next_use = 0;  // without a slot: `wanted`
  };
  CachedRow CandidateAt(const SearchedCache& cache, CacheSlot slot) const;
  CacheSlot ChooseAmong(const SearchedCache& cache, const SlotTable::Range& range, uint64_t begin,
                        uint64_t count, int64_t step, Farthest* farthest);

  CachePolicy* policy_;
  bool ranks_rows_;                    // the policy's
  uint64_t hand_ = 0;                  // where the next search begins
  std::vector<CachedRow> candidates_;  // a buffer
};

}  // namespace rowhouse
