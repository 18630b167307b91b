// What a cache keeps of a row: a word in SlotWord, and its record in SlotRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/cache/page_memory.h"
#include "sharding/rows/record.h"

namespace rowhouse {

// The number of a slot of a cache, from 0.
using CacheSlot = uint64_t;
inline constexpr CacheSlot kNoCacheSlot = ~CacheSlot{0};

// What a cache knows of the row in a slot, in four bytes. All zero: the slot is empty. SlotTimes
// (ps/cache/slot_times.h) says which step `time` means.
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

// The memory of a cache's records, one after the other by slot. Taken on first touch.
class SlotRecords {
 public:
  SlotRecords(uint64_t slots, size_t record_bytes)
      : record_bytes_(record_bytes), memory_(slots * record_bytes) {}

  std::byte* at(CacheSlot slot) { return memory_.data() + slot * record_bytes_; }
  const std::byte* at(CacheSlot slot) const { return memory_.data() + slot * record_bytes_; }
  std::span<const std::byte> bytes(CacheSlot slot) const { return {at(slot), record_bytes_}; }
  // All records, those of empty slots among them, which are not initialised.
  std::span<const std::byte> all() const { return {memory_.data(), memory_.bytes()}; }
  // Where the RecordTrailer of the record lies.
  const std::byte* trailer(CacheSlot slot) const {
    return at(slot) + record_bytes_ - sizeof(RecordTrailer);
  }

  // Asks the CPU for all lines of the record.
  void Prefetch(CacheSlot slot) const {
    constexpr uintptr_t kLineBytes = 64;
    const auto begin = reinterpret_cast<uintptr_t>(at(slot)), end = begin + record_bytes_;
    for (uintptr_t line = begin / kLineBytes * kLineBytes; line < end; line += kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(line), /*rw=*/1);
    }
  }

  // Gives back the pages that hold only records of slots below `slot`; these are lost.
  void ReleaseBelow(CacheSlot slot) { memory_.ReleaseBelow(slot * record_bytes_); }

 private:
  size_t record_bytes_;
  PageMemory memory_;
};

}  // namespace rowhouse
