// SlotRecords: the memory of a cache's records, one after the other by slot. Taken on first touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/cache/page_memory.h"
#include "ps/cache/slot_word.h"
#include "sharding/rows/record.h"

namespace rowhouse {

class SlotRecords {
 public:
  SlotRecords(uint64_t slots, size_t record_bytes)
      : record_bytes_(record_bytes), memory_(slots * record_bytes) {}

  std::byte* at(CacheSlot slot) { return memory_.data() + slot * record_bytes_; }
  const std::byte* at(CacheSlot slot) const { return memory_.data() + slot * record_bytes_; }
  std::span<const std::byte> bytes(CacheSlot slot) const { return {at(slot), record_bytes_}; }
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
