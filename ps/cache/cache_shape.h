// CacheShape: the sets and ways of a cache of a given capacity.
#pragma once

#include <cstdint>

namespace rowhouse {

// sets * ways <= capacity_rows, and fewer than `sets` rows of the capacity are left unused.
struct CacheShape {
  uint64_t sets = 1;
  uint64_t ways = 1;

  // Slot numbers in the index have 31 bits.
  static constexpr uint64_t kMaxFullyAssociativeSlots = (uint64_t{1} << 31) - 1;

  // `ways` 1: one set of all rows. Requires ways >= 1; capacity_rows 0 counts as 1.
  static CacheShape Of(uint64_t capacity_rows, uint32_t ways);
};

}  // namespace rowhouse
