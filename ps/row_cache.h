// RowCache: the records of one table slice that a shard holds in memory.
//
// A slice that fits is a direct array: every row has its own slot and nothing is ever evicted.
// A larger one lives in cache_sets x cache_lines (ways): a row may lie in any way of its set, and
// the least recently used unpinned way makes room (LRU within the set). Records of rows that a
// batch in flight needs are pinned, so a Claim may find no way; the caller then does without the
// cache for that row (design.md: overflow).
//
// Memory:    records are mapped on first touch; beyond them a slot takes 17 bytes.
// Threads:   the shard's thread only.
// Invariant: a dirty record leaves the cache only through Claim's victim, never silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/types.h"
#include "sharding/record.h"
#include "sharding/row_order.h"

namespace rowhouse {

struct RowCacheOptions {
  RecordLayout layout;
  RowOrder order;              // of the table
  uint64_t first_row = 0;      // of the slice: a position in that order
  uint64_t rows = 0;           // of the slice, > 0
  uint64_t capacity_rows = 0;  // >= rows: direct array; else rounded up to whole sets
  uint32_t ways = 16;          // >= 1; more than the capacity means one set of all slots
};

// What had to leave. `record` is good until the next call.
struct CacheVictim {
  bool is_dirty = false;
  RowId row{};
  std::span<const std::byte> record;
};

class RowCache {
 public:
  using Slot = uint64_t;
  static constexpr Slot kNone = ~Slot{0};
  // How far ahead to Prefetch: measured, 8 and 16 are alike, 4 and 32 a little slower.
  static constexpr size_t kPrefetchRows = 8;

  explicit RowCache(const RowCacheOptions& options);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  bool is_direct() const { return is_direct_; }
  uint64_t capacity_rows() const { return slots_; }
  const RecordLayout& layout() const { return layout_; }

  // The slot of a row, or kNone. Does not count as use.
  Slot Find(RowId row) const;

  // Starts fetching what Find, and in a direct array the use, of a row of the slice will touch. A
  // row is several lines anywhere in memory; without this each row waits for the one before.
  void Prefetch(RowId row) const {
    const Slot first = FirstWay(row);
    __builtin_prefetch(&tags_[first]);
    if (!is_direct_) return;  // Which way it is in only Find knows.
    constexpr size_t kLineBytes = 64;
    const std::byte* const end = record(first) + record_bytes_ + kLineBytes - 1;
    for (const std::byte* line = record(first); line < end; line += kLineBytes) {
      __builtin_prefetch(line, /*rw=*/1);
    }
  }

  // A slot for a row that is not in the cache, its record uninitialised, clean and unpinned; what
  // lay there goes to *victim (victim->record empty if nothing did). kNone if every way is pinned
  // for a step >= `step`. Requires Find(row) == kNone.
  Slot Claim(RowId row, uint64_t step, CacheVictim* victim);

  // Notes a use, and keeps the slot from being claimed until a step after `step`.
  void Pin(Slot slot, uint64_t step);

  // Keeps the slot as Pin does, for a step to come, without noting a use.
  void Announce(Slot slot, uint64_t step);

  std::byte* record(Slot slot) { return records_ + slot * record_bytes_; }
  const std::byte* record(Slot slot) const { return records_ + slot * record_bytes_; }

  // Dirty: pushed since it was last written. A row that was only pulled is never dirty, so it
  // never comes to exist in the store.
  bool is_dirty(Slot slot) const { return dirty_[slot] != 0; }
  void set_dirty(Slot slot) { dirty_[slot] = 1; }
  void set_clean(Slot slot) { dirty_[slot] = 0; }

  // Slots in [begin, end) of dirty rows with their rows, by ascending row.
  std::vector<std::pair<RowId, Slot>> DirtySlots(Slot begin, Slot end) const;

 private:
  Slot FirstWay(RowId row) const;

  const RecordLayout layout_;
  const size_t record_bytes_;
  const RowOrder order_;
  const uint64_t first_row_;
  bool is_direct_ = false;
  uint64_t sets_ = 0, ways_ = 0, slots_ = 0;
  uint32_t now_ = 0;  // counts uses; wraps, see Claim

  size_t mapped_bytes_ = 0;
  std::byte* records_ = nullptr;  // mmap: pages come on first touch
  std::vector<uint64_t> tags_;    // row + 1; 0: empty
  std::vector<uint32_t> last_use_;
  std::vector<uint32_t> pinned_until_;  // step + 1; 0: never pinned
  std::vector<uint8_t> dirty_;
};

}  // namespace rowhouse
