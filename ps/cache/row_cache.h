// RowCache: the records of one table slice that a shard holds in memory.
//
// A slice that fits is a direct array: every row has a slot of its own and none is ever evicted.
// Otherwise the cache is set-associative: a row may take any slot (way) of its set, and a policy
// (ps/cache/cache_policy.h) chooses which row of the set is evicted. `ways` 1 means fully
// associative: one set of all slots.
//
// Rows that a step needs are pinned, so Claim may find no slot; the caller then does without the
// cache for that row. Rows whose next use is known (NoteNextUse) are evicted only if no others are
// left, and then the one whose use is farthest away goes first (Belady).
//
// Memory:    records, a tag of 4 or 8 bytes and 4 bytes of state for each slot, taken on first
//            touch; in a direct array 1 byte of state and no tag; in a fully associative cache an
//            index of 8 to 16 bytes a slot.
// Threads:   the shard's thread only.
// Invariant: a dirty record leaves the cache only as the victim of Claim or Resize, never
//            silently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "common/types.h"
#include "ps/cache/cache_places.h"
#include "ps/cache/cache_policy.h"
#include "ps/cache/page_memory.h"
#include "ps/cache/slot_index.h"
#include "ps/cache/tag_match.h"
#include "sharding/plans/row_order.h"
#include "sharding/rows/record.h"

namespace rowhouse {

// Sets and ways of a cache: sets * ways <= capacity_rows, and fewer than `sets` rows of the
// capacity are left unused.
struct CacheShape {
  uint64_t sets = 1;
  uint64_t ways = 1;

  // Slot numbers in the index have 31 bits.
  static constexpr uint64_t kMaxFullyAssociativeSlots = (uint64_t{1} << 31) - 1;

  // `ways` 1: one set of all rows. Requires ways >= 1; capacity_rows 0 counts as 1.
  static CacheShape Of(uint64_t capacity_rows, uint32_t ways);
};

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
  std::span<const std::byte> record;
};

class RowCache {
 public:
  using Slot = uint64_t;
  static constexpr Slot kNone = ~Slot{0};
  // How many rows FindTogether takes.
  static constexpr size_t kTogether = 32;
  // NoteNextUse ignores uses farther ahead than this, steps.
  static constexpr uint64_t kMaxStepsAhead = 4096;

  explicit RowCache(const RowCacheOptions& options);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  bool is_direct() const { return is_direct_; }
  uint64_t capacity_rows() const { return slots_; }
  const RecordLayout& layout() const { return options_.layout; }
  // Memory beyond the records: for each slot, and of the index.
  size_t bytes_per_slot() const;
  size_t index_bytes() const { return index_ ? index_->bytes() : 0; }

  // The slot of a row, or kNone. Does not count as use.
  Slot Find(RowId row) const;

  // Find of up to kTogether rows of the slice: slots[i] is that of rows[i]. Prefetches the records
  // into the CPU's caches; with `claims` also the empty slots that Claim would give to rows that
  // were not found. Call it for the next rows before these are used: a record is several lines
  // anywhere in memory, and one row at a time would wait for each of them.
  // Requires slots.size() == rows.size().
  void FindTogether(std::span<const RowId> rows, std::span<Slot> slots, bool claims = false) const;

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
  bool HasRoom(RowId row) const;

  // Notes a use in `step`. The row is not evicted before a later step; of several calls the latest
  // step counts.
  void Pin(Slot slot, uint64_t step);

  // Notes that the row's next use is in `step`. Ignored unless `step` is later than the steps of
  // all uses so far, by at most kMaxStepsAhead. The cache remembers one next use for each row: the
  // earliest that was noted. It forgets it when the row is used in that step. If a call names
  // another step than the one remembered, it returns the later of the two; the caller notes that
  // again when step `after` is over.
  struct LaterUse {
    uint64_t after = 0;
    uint64_t step = 0;
  };
  std::optional<LaterUse> NoteNextUse(Slot slot, uint64_t step);

  std::byte* record(Slot slot) { return records_.data() + slot * record_bytes_; }
  const std::byte* record(Slot slot) const { return records_.data() + slot * record_bytes_; }

  // Dirty: pushed since it was last written. A row that was only pulled is never dirty, so it is
  // never written to the store.
  bool is_dirty(Slot slot) const { return (flags(slot) & kDirty) != 0; }
  void set_dirty(Slot slot) { flags(slot) |= kDirty; }
  void set_clean(Slot slot) { flags(slot) &= static_cast<uint8_t>(~kDirty); }

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

  struct SlotWord {
    uint16_t time = 0;  // a step mod 2^16: the last use or pin; with kNextUseKnown the next use
    uint8_t state = 0;  // the policy's, as of `time`
    uint8_t flags = 0;
  };
  static_assert(sizeof(SlotWord) == 4);
  // Tags and words of 16 slots, in two adjacent cache lines. A set of 16 ways is one group.
  struct alignas(64) SlotGroup {
    uint32_t tags[kTagsPerMatch];  // low 32 bits
    SlotWord words[kTagsPerMatch];
  };
  static_assert(sizeof(SlotGroup) == 128);
  enum Flag : uint8_t {
    kOccupied = 1,
    kDirty = 2,
    kNextUseKnown = 4,
    // Used only with kNextUseKnown, where `time` holds the next use: the row is pinned, too. The
    // upper four bits of the flags are the low four bits of the step until which it is pinned.
    // Without kNextUseKnown a row is pinned until step `time`.
    kPinned = 8,
  };
  static constexpr int kPinShift = 4;
  static constexpr int64_t kMaxPinAhead = 8;  // steps; half of what four bits can tell apart
  // Ages are kept below 2^15 by a sweep over all slots every kSweepSteps.
  static constexpr int64_t kMaxAge = 0x4000;
  static constexpr int64_t kSweepSteps = 0x2000;
  // A fully associative cache of at most kProbeAll slots looks at all of them for a row to evict; a
  // larger one looks at the kProbe slots behind the hand.
  static constexpr uint64_t kProbeAll = 1024;
  static constexpr uint64_t kProbe = 64;

  RowCache(RowCache&&) = default;
  RowCache& operator=(RowCache&&) = default;

  uint64_t PositionOf(RowId row) const {
    return options_.order.PositionOf(row) - options_.first_row;
  }
  RowId RowOf(Slot slot) const;
  uint64_t TagOf(Slot slot) const;
  Slot FindPlace(const CachePlaces::Place& place) const;
  void Fetch(Slot slot) const;
  Slot EmptySlot(const CachePlaces::Place& place) const;
  void Put(Slot slot, const CachePlaces::Place& place);
  void TakeOut(Slot slot, CacheVictim* victim);
  Slot ChooseVictim(const CachePlaces::Place& place, uint64_t step, uint64_t wanted);
  Slot ChooseAmong(Slot first, uint64_t slots, uint64_t begin, uint64_t count, uint64_t step,
                   uint64_t wanted, Slot* farthest, int64_t* farthest_time);
  uint32_t& Tag(Slot slot) { return groups_[slot / kTagsPerMatch].tags[slot % kTagsPerMatch]; }
  uint32_t Tag(Slot slot) const { return groups_[slot / kTagsPerMatch].tags[slot % kTagsPerMatch]; }
  SlotWord& Word(Slot slot) { return groups_[slot / kTagsPerMatch].words[slot % kTagsPerMatch]; }
  const SlotWord& Word(Slot slot) const {
    return groups_[slot / kTagsPerMatch].words[slot % kTagsPerMatch];
  }
  CachedRow CandidateAt(Slot slot);
  // Resize: takes a row over from another cache. If there is no slot, that row or one here is
  // evicted.
  void TakeOver(RowCache& from, Slot slot, const std::function<void(const CacheVictim&)>& evict);
  bool MakeRoomFor(RowCache& from, Slot slot, const CachePlaces::Place& place,
                   const std::function<void(const CacheVictim&)>& evict);

  uint8_t& flags(Slot slot) { return is_direct_ ? direct_flags_[slot] : Word(slot).flags; }
  const uint8_t& flags(Slot slot) const {
    return is_direct_ ? direct_flags_[slot] : Word(slot).flags;
  }
  // The step that `time` of a slot means; may be negative.
  int64_t StepOf(const SlotWord& word) const {
    return now_ + static_cast<int16_t>(word.time - static_cast<uint16_t>(now_));
  }
  bool IsPinned(const SlotWord& word, int64_t step) const;
  uint32_t AgeOf(const SlotWord& word, int64_t step) const {
    return static_cast<uint32_t>(std::max<int64_t>(step - StepOf(word), 0));
  }
  void AdvanceTo(uint64_t step);
  void Sweep(int64_t step);

  RowCacheOptions options_;
  size_t record_bytes_;

  bool is_direct_ = false;
  uint64_t sets_ = 0, ways_ = 0, slots_ = 0;
  std::unique_ptr<CachePolicy> policy_;
  std::optional<CachePlaces> places_;
  PageMemory records_;
  PageMemory group_memory_, high_tag_memory_;
  SlotGroup* groups_ = nullptr;
  uint32_t* high_tags_ = nullptr;      // upper halves of tags of 64 bits; null: tags have 32
  std::vector<uint8_t> direct_flags_;  // of a direct array

  // Fully associative.
  std::optional<SlotIndex> index_;
  uint64_t never_used_ = 0;  // this slot and those behind it were never used
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> emptied_;

  bool has_begun_ = false;             // a call named a step
  int64_t now_ = 0;                    // the latest step named
  uint64_t uses_ = 0;                  // in that step
  int64_t swept_ = 0;                  // step in which ages were last bounded
  uint64_t hand_ = 0;                  // where the next search for a victim begins
  std::vector<CachedRow> candidates_;  // a buffer
};

}  // namespace rowhouse
