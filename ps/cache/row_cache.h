// RowCache: the records of one table slice that a shard holds in memory.
//
// A slice that fits is a direct array: every row has a slot of its own and none is ever evicted.
// Otherwise the cache is set-associative, or fully associative (ps/cache/slot_table.h), and a
// policy (ps/cache/cache_policy.h) chooses which row of the set is evicted.
//
// Rows that a step needs are pinned, so Claim may find no slot; the caller then does without the
// cache for that row. Rows whose next use is known (NoteNextUse) are evicted only if no others are
// left, and then the one whose use is farthest away goes first (Belady).
//
// Memory:    that of ps/cache/slot.h and slot_table.h.
// Threads:   the shard's thread only.
// Invariant: a dirty record leaves the cache only as the victim of Claim or Resize, never
//            silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/types.h"
#include "ps/cache/cache_policy.h"
#include "ps/cache/slot.h"
#include "ps/cache/slot_table.h"
#include "ps/cache/slot_times.h"
#include "ps/cache/victim_search.h"
#include "sharding/plans/row_order.h"
#include "sharding/rows/record.h"

namespace rowhouse {

struct RowCacheOptions {
  RecordLayout layout;
  RowOrder order;                            // of the table
  uint64_t first_row = 0;                    // of the slice: a position in that order
  uint64_t rows = 0;                         // of the slice, > 0
  uint64_t capacity_rows = 0;                // >= rows: direct array; else CacheShape::Of
  uint32_t ways = 16;                        // >= 1; 1: fully associative
  std::string policy = kDefaultCachePolicy;  // a name of CachePolicies()
  OptionValues policy_own = {};              // of options that the policy declares itself
  std::shared_ptr<const RowAccessCounts> access_counts = nullptr;  // of the table; null: not known
  std::optional<double> half_life = std::nullopt;                  // see CachePolicyOptions
};

// A row that was evicted. `record` is valid until the next non-const call; empty: none was.
struct CacheVictim {
  bool is_dirty = false;
  RowId row{};
  CacheSlot slot = kNoCacheSlot;  // where it was
  std::span<const std::byte> record;
};

class RowCache {
 public:
  using Slot = CacheSlot;
  static constexpr Slot kNone = kNoCacheSlot;
  // How many rows FindTogether takes.
  static constexpr size_t kTogether = SlotTable::kTogether;
  // NoteNextUse ignores uses farther ahead than this, steps.
  static constexpr uint64_t kMaxStepsAhead = SlotTimes::kMaxStepsAhead;

  explicit RowCache(const RowCacheOptions& options);
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  bool is_direct() const { return table_.is_direct(); }
  uint64_t capacity_rows() const { return table_.slots(); }
  const RecordLayout& layout() const { return options_.layout; }
  // Memory beyond the records: for each slot, and of the index.
  size_t bytes_per_slot() const { return table_.bytes_per_slot(); }
  size_t index_bytes() const { return table_.index_bytes(); }

  // The slot of a row, or kNone. Does not count as use.
  Slot Find(RowId row) const { return table_.Find(table_.PlaceOf(row)); }

  // Find of up to kTogether rows of the slice: slots[i] is that of rows[i]. Requires slots.size()
  // == rows.size().
  void FindTogether(std::span<const RowId> rows, std::span<Slot> slots) const {
    table_.FindTogether(rows, slots);
  }

  // Prefetches a record into the CPU's caches. A record is several lines anywhere in memory:
  // without this each row would wait for them.
  void Prefetch(Slot slot) const { records_.Prefetch(slot); }
  // Prefetches what Pin and CountLookups read and write.
  void PrefetchCount(Slot slot) const {
    if (!is_direct()) __builtin_prefetch(records_.trailer(slot), /*rw=*/1);
  }
  // Prefetches the empty slot that Claim would give to a row that is not in the cache.
  void PrefetchEmpty(RowId row) const {
    const Slot slot = table_.EmptySlot(table_.PlaceOf(row));
    if (slot != kNone) Prefetch(slot);
  }

  // Gives a slot to a row that is not in the cache. The record is uninitialised, clean and
  // unpinned; the row that was evicted from the slot goes to *victim.
  // `wanted`: the step of the row's next use; nullopt: `step`. The row may take an empty slot, that
  // of an unpinned row whose next use is not known, or that of an unpinned row whose next use is
  // after `wanted`. A row is pinned if it is kept for `step` or a later step. kNone if there is no
  // such slot among those that the row may take.
  // Requires Find(row) == kNone.
  Slot Claim(RowId row, uint64_t step, CacheVictim* victim,
             std::optional<uint64_t> wanted = std::nullopt);

  // Whether Claim would find an empty slot.
  bool HasRoom(RowId row) const { return table_.EmptySlot(table_.PlaceOf(row)) != kNone; }

  // Notes a use in `step`. The row is not evicted before a later step; of several calls the latest
  // step counts.
  void Pin(Slot slot, uint64_t step) {
    times_.AdvanceTo(step, table_);
    if (is_direct()) return;  // Nothing is ever evicted: neither uses nor pins matter.
    times_.Use(table_.word(slot), step, records_.trailer(slot));
  }

  // Notes that the row's next use is in `step`. Ignored unless `step` is later than the steps of
  // all uses so far, by at most kMaxStepsAhead. The cache remembers one next use for each row: the
  // earliest that was noted. It forgets it when the row is used in that step. If a call names
  // another step than the one remembered, it returns the later of the two; the caller notes that
  // again when step `after` is over.
  using LaterUse = SlotTimes::LaterUse;
  std::optional<LaterUse> NoteNextUse(Slot slot, uint64_t step);

  std::byte* record(Slot slot) {
    if (is_direct()) WriteLookups(slot);
    return records_.at(slot);
  }

  // The record for who reads its weights and state alone: the count of lookups in its trailer may
  // be behind.
  const std::byte* values(Slot slot) const { return records_.at(slot); }
  // The records of all slots, layout().bytes() each; not initialised where a slot is empty. Good
  // until Resize.
  std::span<const std::byte> all_values() const { return records_.all(); }

  // Counts lookups of the row. In a direct array the record is not written, as nothing reads its
  // count before the record leaves the array: a few lookups wait beside the flags of the slot.
  void CountLookups(Slot slot, uint32_t lookups) {
    if (is_direct()) {
      uint8_t& flags = table_.flags(slot);
      const uint32_t sum = (flags >> SlotTable::kLookupsShift) + lookups;
      if (lookups <= SlotTable::kMaxLookups && sum <= SlotTable::kMaxLookups) {
        flags = static_cast<uint8_t>(flags + (lookups << SlotTable::kLookupsShift));
        return;
      }
      WriteLookups(slot);
    }
    rowhouse::CountLookups(layout(), records_.at(slot), lookups);
  }

  // Dirty: pushed since it was last written. A row that was only pulled is never dirty, so it is
  // never written to the store.
  bool is_dirty(Slot slot) const { return (table_.flags(slot) & SlotWord::kDirty) != 0; }
  void set_dirty(Slot slot) { table_.flags(slot) |= SlotWord::kDirty; }
  void set_clean(Slot slot) { table_.flags(slot) &= static_cast<uint8_t>(~SlotWord::kDirty); }

  // Dirty rows in slots [begin, end) with their slots, by ascending row. `end` may be beyond the
  // last slot.
  std::vector<std::pair<RowId, Slot>> DirtySlots(Slot begin = 0, Slot end = kNone) const;

  // Changes the capacity. Rows that no longer fit go to `evict`, clean or dirty; the others move to
  // other slots, unchanged. Pins do not keep a row here: call it between steps. Meanwhile the old
  // and the new slots both take memory; the pages of records that have moved are given back at
  // once.
  void Resize(uint64_t capacity_rows, const std::function<void(const CacheVictim&)>& evict);

 private:
  friend class RowCachePeer;  // tests/testing/row_cache_peer.h

  RowCache(RowCache&&) = default;
  RowCache& operator=(RowCache&&) = default;

  // Of a direct array: adds the lookups that wait to the record.
  void WriteLookups(Slot slot) {
    uint8_t& flags = table_.flags(slot);
    const uint32_t lookups = flags >> SlotTable::kLookupsShift;
    if (lookups == 0) return;
    rowhouse::CountLookups(layout(), records_.at(slot), lookups);
    flags &= SlotWord::kOccupied | SlotWord::kDirty;
  }
  SearchedCache searched() { return {.table = table_, .records = records_, .times = times_}; }
  CacheVictim RowIn(Slot slot) const;
  // Resize: takes a row over from another cache. If there is no slot, that row or one here is
  // evicted.
  void TakeOver(const RowCache& from, Slot slot,
                const std::function<void(const CacheVictim&)>& evict);
  bool MakeRoomFor(const RowCache& from, Slot slot, const SlotTable::Place& place,
                   const std::function<void(const CacheVictim&)>& evict);

  RowCacheOptions options_;
  SlotTable table_;
  SlotRecords records_;
  std::unique_ptr<CachePolicy> policy_;  // null: a direct array
  SlotTimes times_;
  VictimSearch victims_;
};

}  // namespace rowhouse
