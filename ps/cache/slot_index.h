// SlotIndex: a hash table from tag to slot, for fully associative caches. Open addressing with
// linear probing; at least two entries of 4 bytes for each slot. Erasing closes the gap (Knuth,
// TAOCP 3, algorithm 6.4 R), so there are no tombstones.
//
// Tags stay in the cache: `tag_of(slot)` returns that of a slot in the index.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "common/random.h"

namespace rowhouse {

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

}  // namespace rowhouse
