// RowCache: the records of one table slice that a shard holds in memory.
//
// A slice that fits is a direct array: every row has its own slot and nothing is ever evicted.
// A larger one lives in cache_sets x cache_lines (ways): a row may lie in any way of its set, and
// which of them makes room a policy decides (ps/cache/cache_policy.h). With 1 way any slot will do.
// Records of rows that a batch in flight needs are pinned, so a Claim may find no way; the caller
// then does without the cache for that row (design.md: overflow). Rows that are known to be needed
// soon are announced: they stay while there are others, and then the one needed last goes (Belady).
//
// Memory:    records, 32 to 64 bits of tag and 4 bytes a slot, on first touch; a byte a slot in a
//            direct array; 8 to 16 bytes more a slot for the index of a cache of any slot.
// Threads:   the shard's thread only.
// Invariant: a dirty record leaves the cache only through Claim's victim, Evict's or Resize's,
//            never silently.
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

// How many sets and ways a cache of so many rows has: never more than that, and less than one way's
// worth of sets fewer. `ways` 1: one set of all rows.
struct CacheShape {
  uint64_t sets = 1;
  uint64_t ways = 1;

  // The index of a cache of any slot has numbers of 31 bits.
  static constexpr uint64_t kMaxFullyAssociativeSlots = (uint64_t{1} << 31) - 1;

  // Requires ways >= 1; capacity_rows 0 counts as 1.
  static CacheShape Of(uint64_t capacity_rows, uint32_t ways);
};

struct RowCacheOptions {
  RecordLayout layout;
  RowOrder order;                            // of the table
  uint64_t first_row = 0;                    // of the slice: a position in that order
  uint64_t rows = 0;                         // of the slice, > 0
  uint64_t capacity_rows = 0;                // >= rows: direct array; else CacheShape::Of
  uint32_t ways = 16;                        // >= 1; 1: any slot
  std::string policy = kDefaultCachePolicy;  // a name of CachePolicies()
  std::shared_ptr<const RowAccessCounts> frequencies = nullptr;  // of the table; null: not known
  std::optional<double> half_life = std::nullopt;                // see CachePolicyOptions
};

// What had to leave. `record` is good until the next call that is not const.
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
  // How many steps ahead an announcement is heard.
  static constexpr uint64_t kMaxStepsAhead = 4096;

  explicit RowCache(const RowCacheOptions& options);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  bool is_direct() const { return is_direct_; }
  uint64_t capacity_rows() const { return slots_; }
  const RecordLayout& layout() const { return options_.layout; }
  // What the cache takes beyond the records, by what of it is there for each slot, and by the
  // index.
  size_t bytes_per_slot() const;
  size_t index_bytes() const { return index_ ? index_->bytes() : 0; }

  // The slot of a row, or kNone. Does not count as use.
  Slot Find(RowId row) const;

  // As Find, of up to kTogether rows of the slice: slots[i] that of rows[i]. Starts fetching what
  // their use will touch, and with `claims` what a Claim of the others would where it finds an
  // empty slot: to be called for the next rows before these are used. A row is several lines
  // anywhere in memory; one at a time each waits for the one before.
  // Requires slots.size() == rows.size().
  void FindTogether(std::span<const RowId> rows, std::span<Slot> slots, bool claims = false) const;

  // A slot for a row that is not in the cache, its record uninitialised, clean and unpinned; what
  // lay there goes to *victim (victim->record empty if nothing did). kNone if every slot the row
  // may take is pinned for a step >= `step`, or announced for a step <= `wanted`: that of the row's
  // own next use, if it is known to be later than `step`; then the row is worth no place.
  // Requires Find(row) == kNone.
  Slot Claim(RowId row, uint64_t step, CacheVictim* victim,
             std::optional<uint64_t> wanted = std::nullopt);

  // Whether Claim would take an empty slot.
  bool HasRoom(RowId row) const;

  // Takes out what Claim would have to if no slot were empty, and leaves that slot empty. False if
  // nothing may leave. Requires that the cache is no direct array.
  bool Evict(RowId row, uint64_t step, CacheVictim* victim);

  // Notes a use in `step`, and keeps the slot until a step after it, the latest of several.
  void Pin(Slot slot, uint64_t step);

  // Says that the row of the slot will be used in `step`, and not before. Heard if step is later
  // than any a use was noted in, by kMaxStepsAhead at most; the earliest of several counts. It is
  // forgotten when the row is used in that step. Returns what must be announced again to be known,
  // if anything: the later of two steps, after the earlier.
  struct LaterUse {
    uint64_t after = 0;
    uint64_t step = 0;
  };
  std::optional<LaterUse> NoteNextUse(Slot slot, uint64_t step);

  std::byte* record(Slot slot) { return records_.data() + slot * record_bytes_; }
  const std::byte* record(Slot slot) const { return records_.data() + slot * record_bytes_; }

  // Dirty: pushed since it was last written. A row that was only pulled is never dirty, so it
  // never comes to exist in the store.
  bool is_dirty(Slot slot) const { return (flags(slot) & kDirty) != 0; }
  void set_dirty(Slot slot) { flags(slot) |= kDirty; }
  void set_clean(Slot slot) { flags(slot) &= static_cast<uint8_t>(~kDirty); }

  // Slots in [begin, end) of dirty rows with their rows, by ascending row. Slots beyond the last
  // have none.
  std::vector<std::pair<RowId, Slot>> DirtySlots(Slot begin = 0, Slot end = kNone) const;

  // Makes the cache one of another capacity. What no longer fits goes to `evict`, clean or dirty;
  // everything else stays as it is, in another slot. Pinned rows are rows like any other here: to
  // be called while none is needed. Takes the memory of both sizes in passing, but for what the
  // moved records leave behind.
  void Resize(uint64_t capacity_rows, const std::function<void(const CacheVictim&)>& evict);

 private:
  struct SlotWord {
    uint16_t time = 0;  // step, mod 2^16, of the last use or pin; if announced, of the next use
    uint8_t state = 0;  // the policy's, as of `time`
    uint8_t flags = 0;
  };
  static_assert(sizeof(SlotWord) == 4);
  // What is kept of 16 slots, in two lines of memory side by side. A set of 16 ways is one.
  struct alignas(64) SlotGroup {
    uint32_t tags[kTagsPerMatch];  // low 32 bits
    SlotWord words[kTagsPerMatch];
  };
  static_assert(sizeof(SlotGroup) == 128);
  enum Flag : uint8_t {
    kOccupied = 1,
    kDirty = 2,
    kNextUseKnown = 4,
    // Of announced rows only, whose `time` cannot say it: pinned until the step whose low bits are
    // in the flags' upper four. Others are pinned until `time`.
    kPinned = 8,
  };
  static constexpr int kPinShift = 4;
  static constexpr int64_t kMaxPinAhead = 8;  // half of what the four bits tell apart
  // Ages are kept below 2^15 by a sweep over all slots every kSweepSteps.
  static constexpr int64_t kMaxAge = 0x4000;
  static constexpr int64_t kSweepSteps = 0x2000;
  // Any slot: all of them are looked at for a victim up to here, else so many behind the hand.
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
  CachedRow Look(Slot slot);
  // Resize: takes in a row of another cache; what has no place, that row or one here, is evicted.
  void TakeOver(RowCache& from, Slot slot, const std::function<void(const CacheVictim&)>& evict);
  bool MakeRoomFor(RowCache& from, Slot slot, const CachePlaces::Place& place,
                   const std::function<void(const CacheVictim&)>& evict);

  uint8_t& flags(Slot slot) { return is_direct_ ? direct_flags_[slot] : Word(slot).flags; }
  const uint8_t& flags(Slot slot) const {
    return is_direct_ ? direct_flags_[slot] : Word(slot).flags;
  }
  // The step that `time` of a slot stands for; may lie before 0.
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
  uint32_t* high_tags_ = nullptr;      // of a slot's tag, where 32 bits do not do
  std::vector<uint8_t> direct_flags_;  // of a direct array

  // Any slot.
  std::optional<SlotIndex> index_;
  uint64_t never_used_ = 0;  // this slot and those behind it were never taken
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> emptied_;

  bool has_begun_ = false;          // a step was named
  int64_t now_ = 0;                 // the latest
  uint64_t uses_ = 0;               // in it
  int64_t swept_ = 0;               // step in which ages were bounded last
  uint64_t hand_ = 0;               // where looking for a victim goes on
  std::vector<CachedRow> looking_;  // kept to be reused
};

}  // namespace rowhouse
