// CachePlaces: the set of a cache that a row belongs to, and its tag there.
//
// A permutation (common/scatter.h) scatters the positions of the slice's rows over the next power
// of two, 2^b. A set is a range of scattered positions; ranges differ in length by at most one. So
// the set and the low bits of the scattered position identify a row: a tag of 32 bits is enough
// while rows / sets <= 2^31, else it has 64.
//
// Threads: const after construction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "common/scatter.h"

namespace rowhouse {

// The sets and ways of a cache of a given capacity: sets * ways <= capacity_rows, and fewer than
// `sets` rows of the capacity are left unused.
struct CacheShape {
  uint64_t sets = 1;
  uint64_t ways = 1;

  // Slot numbers in the index have 31 bits.
  static constexpr uint64_t kMaxFullyAssociativeSlots = (uint64_t{1} << 31) - 1;

  // `ways` 1: one set of all rows. Requires ways >= 1; capacity_rows 0 counts as 1.
  static CacheShape Of(uint64_t capacity_rows, uint32_t ways);
};

class CachePlaces {
 public:
  // Requires rows in [1, 2^63], sets in [1, 2^32].
  CachePlaces(uint64_t rows, uint64_t sets)
      : bits_(std::max(1, static_cast<int>(std::bit_width(rows - 1)))),
        sets_(sets),
        scatter_(uint64_t{1} << bits_, kKey) {}

  struct Place {
    uint64_t set;
    uint64_t tag;  // scattered position
  };
  // Of the row at this position of the slice.
  Place Of(uint64_t position) const {
    const uint64_t tag = scatter_(position);
    return {static_cast<uint64_t>((static_cast<unsigned __int128>(tag) * sets_) >> bits_), tag};
  }

  // The position of the row in this set whose tag has these low 32 bits. Requires !is_wide().
  uint64_t PositionOf(uint64_t set, uint32_t low_bits) const {
    const uint64_t first = FirstTag(set);
    return scatter_.Inverse(first + (low_bits - static_cast<uint32_t>(first)));
  }
  // The position of the row that has this tag.
  uint64_t PositionOf(uint64_t tag) const { return scatter_.Inverse(tag); }

  // True if two rows of a set may have tags with the same low 32 bits, so that tags need 64.
  bool is_wide() const {
    return ((static_cast<unsigned __int128>(1) << bits_) + sets_ - 1) / sets_ > uint64_t{1} << 32;
  }

 private:
  static constexpr uint64_t kKey = 0x63616368;  // any number would do

  uint64_t FirstTag(uint64_t set) const {
    const unsigned __int128 scaled = static_cast<unsigned __int128>(set) << bits_;
    return static_cast<uint64_t>((scaled + sets_ - 1) / sets_);
  }

  int bits_;
  uint64_t sets_;
  Scatter scatter_;
};

}  // namespace rowhouse
