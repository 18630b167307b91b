// SlotWord: what a cache knows of the row in a slot, in four bytes.
#pragma once

#include <cstdint>

namespace rowhouse {

// The number of a slot of a cache, from 0.
using CacheSlot = uint64_t;
inline constexpr CacheSlot kNoCacheSlot = ~CacheSlot{0};

// All zero: the slot is empty. SlotTimes (ps/cache/slot_times.h) says which step `time` means.
struct SlotWord {
  enum Flag : uint8_t {
    kOccupied = 1,
    kDirty = 2,
    kNextUseKnown = 4,
    // Used only with kNextUseKnown, where `time` holds the next use: the row is pinned, too. The
    // upper four bits of the flags are the low four bits of the step until which it is pinned.
    // Without kNextUseKnown a row is pinned until step `time`.
    kPinned = 8,
  };

  uint16_t time = 0;  // a step mod 2^16: the last use or pin; with kNextUseKnown the next use
  uint8_t state = 0;  // the policy's, as of `time`
  uint8_t flags = 0;

  bool is_occupied() const { return (flags & kOccupied) != 0; }
  bool is_next_use_known() const { return (flags & kNextUseKnown) != 0; }
  // Forgets the next use, and the pin beside it.
  void ForgetNextUse() { flags &= kOccupied | kDirty; }
};
static_assert(sizeof(SlotWord) == 4);

}  // namespace rowhouse
