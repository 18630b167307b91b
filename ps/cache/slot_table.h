// SlotTable: which slot of a cache holds which row of a slice.
//
// A slice that fits is a direct array: each row has a slot of its own. Otherwise the table is
// set-associative: a row may take any slot (way) of its set. `ways` 1 means fully associative: one
// set of all slots, which are found by a hash index.
//
// Memory:  a tag of 4 or 8 bytes and a word of 4 bytes for each slot, taken on first touch; in a
//          direct array 1 byte and no tag; in a fully associative table also an index of 8 to 16
//          bytes a slot.
// Threads: one at a time.
#pragma once

#include <emmintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "common/random.h"
#include "common/types.h"
#include "ps/cache/cache_places.h"
#include "ps/cache/page_memory.h"
#include "ps/cache/slot.h"
#include "sharding/plans/row_order.h"

namespace rowhouse {

// SlotIndex: a hash table from tag to slot, for fully associative caches. Open addressing with
// linear probing; at least two entries of 4 bytes for each slot. Erasing closes the gap (Knuth,
// TAOCP 3, algorithm 6.4 R), so there are no tombstones.
//
// Tags stay in the cache: `tag_of(slot)` returns that of a slot in the index.
class SlotIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Requires slots < 2^31.
  explicit SlotIndex(uint64_t slots) : entries_(std::bit_ceil(2 * slots), kNone) {}

  size_t bytes() const { return entries_.size() * sizeof(uint32_t); }

  // kNone if no slot in the index has the tag.
  template <typename TagOf>
  uint32_t Find(uint64_t tag, const TagOf& tag_of) const {
    for (size_t i = Home(tag); entries_[i] != kNone; i = Next(i)) {
      if (tag_of(entries_[i]) == tag) return entries_[i];
    }
    return kNone;
  }

  // Prefetches the memory that Find of this tag reads first.
  void Prefetch(uint64_t tag) const { __builtin_prefetch(&entries_[Home(tag)]); }

  // Requires that the tag is not there.
  void Insert(uint64_t tag, uint32_t slot) {
    size_t i = Home(tag);
    while (entries_[i] != kNone) i = Next(i);
    entries_[i] = slot;
  }

  // Requires that the slot is there; its tag is still the one it was inserted under.
  template <typename TagOf>
  void Erase(uint32_t slot, const TagOf& tag_of) {
    size_t hole = Home(tag_of(slot));
    while (entries_[hole] != slot) hole = Next(hole);
    for (size_t i = Next(hole); entries_[i] != kNone; i = Next(i)) {
      // An entry may move to the hole unless its home lies behind the hole, cyclically.
      const size_t home = Home(tag_of(entries_[i]));
      if (((i - home) & (entries_.size() - 1)) >= ((i - hole) & (entries_.size() - 1))) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole] = kNone;
  }

 private:
  size_t Home(uint64_t tag) const { return Mix64(tag) & (entries_.size() - 1); }
  size_t Next(size_t i) const { return (i + 1) & (entries_.size() - 1); }

  std::vector<uint32_t> entries_;
};

// Compares 16 tags with one: bit i of the result says whether tags[i] equals it.
//
// The tags of a set are adjacent, so comparing one cache line of 64 bytes finds a row. The scalar
// and the SSE2 form give the same bits; the scalar one runs on other CPUs and in the test.
inline constexpr size_t kTagsPerMatch = 16;

inline uint32_t MatchTagsScalar(const uint32_t* tags, uint32_t wanted) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kTagsPerMatch; ++i) mask |= static_cast<uint32_t>(tags[i] == wanted) << i;
  return mask;
}

// Reads 16 tags, of any alignment.
inline uint32_t MatchTags(const uint32_t* tags, uint32_t wanted) {
#ifdef __SSE2__
  const auto* lanes = reinterpret_cast<const __m128i*>(tags);
  const __m128i all = _mm_set1_epi32(static_cast<int>(wanted));
  // Each compare gives four words of ones or zeros; packing twice leaves a byte of each.
  const __m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(lanes), all),
                                      _mm_cmpeq_epi32(_mm_loadu_si128(lanes + 1), all));
  const __m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(lanes + 2), all),
                                       _mm_cmpeq_epi32(_mm_loadu_si128(lanes + 3), all));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
  return MatchTagsScalar(tags, wanted);
#endif
}

// Bit i of the result is bit 24 of words[i] (the lowest bit of its highest byte), for 16 words.
inline uint32_t HighByteLowBitsScalar(const uint32_t* words) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kTagsPerMatch; ++i) mask |= (words[i] >> 24 & 1) << i;
  return mask;
}

inline uint32_t HighByteLowBits(const uint32_t* words) {
#ifdef __SSE2__
  const auto* lanes = reinterpret_cast<const __m128i*>(words);
  uint32_t mask = 0;
  for (int lane = 0; lane < 4; ++lane) {
    // That bit becomes the sign.
    const __m128i signs = _mm_slli_epi32(_mm_loadu_si128(lanes + lane), 7);
    mask |= static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(signs))) << (4 * lane);
  }
  return mask;
#else
  return HighByteLowBitsScalar(words);
#endif
}

struct SlotTableOptions {
  RowOrder order;              // of the table
  uint64_t first_row = 0;      // of the slice: a position in that order
  uint64_t rows = 0;           // of the slice, > 0
  uint64_t capacity_rows = 0;  // >= rows: direct array; else CacheShape::Of
  uint32_t ways = 16;          // >= 1; 1: fully associative
};

class SlotTable {
 public:
  // The set of a row and its tag there. In a direct array the set is the row's own slot.
  using Place = CachePlaces::Place;
  // Slots [first, first + count).
  struct Range {
    CacheSlot first = 0;
    uint64_t count = 0;
  };
  // How many rows FindTogether takes.
  static constexpr size_t kTogether = 16;

  explicit SlotTable(const SlotTableOptions& options);

  bool is_direct() const { return is_direct_; }
  bool is_fully_associative() const { return index_.has_value(); }
  uint64_t slots() const { return slots_; }
  // Memory: for each slot, and of the index.
  size_t bytes_per_slot() const;
  size_t index_bytes() const { return index_ ? index_->bytes() : 0; }

  // Of a row of the slice.
  Place PlaceOf(RowId row) const {
    const uint64_t position = options_.order.PositionOf(row) - options_.first_row;
    return is_direct_ ? Place{.set = position, .tag = 0} : places_->Of(position);
  }

  // The slot of the row, or kNoCacheSlot.
  CacheSlot Find(const Place& place) const;

  // Find of up to kTogether rows: slots[i] is that of rows[i]. Requires slots.size() ==
  // rows.size().
  void FindTogether(std::span<const RowId> rows, std::span<CacheSlot> slots) const;

  // An empty slot that a row may take that is not there, or kNoCacheSlot. The same until the next
  // Put or TakeOut.
  CacheSlot EmptySlot(const Place& place) const;

  // Every slot that the row may take. Requires !is_direct().
  Range SlotsFor(const Place& place) const { return {.first = place.set * ways_, .count = ways_}; }

  // Gives the slot that EmptySlot returned to the row. The caller then marks it as occupied.
  void Put(CacheSlot slot, const Place& place);

  // Empties an occupied slot. Requires !is_direct().
  void TakeOut(CacheSlot slot);

  // The row in an occupied slot.
  RowId RowAt(CacheSlot slot) const;

  // Requires !is_direct().
  SlotWord& word(CacheSlot slot) {
    return groups_[slot / kTagsPerMatch].words[slot % kTagsPerMatch];
  }
  const SlotWord& word(CacheSlot slot) const {
    return groups_[slot / kTagsPerMatch].words[slot % kTagsPerMatch];
  }
  // Those of the word; a direct array has kOccupied and kDirty only, and above them the lookups
  // that the record's trailer does not count yet.
  static constexpr int kLookupsShift = 2;
  static constexpr uint32_t kMaxLookups = 0xff >> kLookupsShift;
  uint8_t& flags(CacheSlot slot) { return is_direct_ ? direct_flags_[slot] : word(slot).flags; }
  uint8_t flags(CacheSlot slot) const {
    return is_direct_ ? direct_flags_[slot] : word(slot).flags;
  }

 private:
  // Tags and words of 16 slots, in two adjacent cache lines. A set of 16 ways is one group.
  struct alignas(64) Group {
    uint32_t tags[kTagsPerMatch];  // low 32 bits
    SlotWord words[kTagsPerMatch];
  };
  static_assert(sizeof(Group) == 128);

  CacheSlot FindDirect(const Place& place) const {
    return (direct_flags_[place.set] & SlotWord::kOccupied) != 0 ? place.set : kNoCacheSlot;
  }
  uint64_t TagOf(CacheSlot slot) const;

  SlotTableOptions options_;
  bool is_direct_;
  uint64_t ways_ = 0, slots_ = 0;
  std::vector<uint8_t> direct_flags_;  // of a direct array

  std::optional<CachePlaces> places_;
  PageMemory group_memory_, high_tag_memory_;
  Group* groups_ = nullptr;
  uint32_t* high_tags_ = nullptr;  // upper halves of tags of 64 bits; null: tags have 32

  // Fully associative.
  std::optional<SlotIndex> index_;
  uint64_t never_used_ = 0;  // this slot and those behind it were never used
  std::priority_queue<CacheSlot, std::vector<CacheSlot>, std::greater<>> emptied_;
};

}  // namespace rowhouse
