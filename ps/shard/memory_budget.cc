#include "ps/shard/memory_budget.h"

#include <algorithm>

namespace rowhouse {

StoreBytes StoreBytes::Beside(uint64_t cache_bytes, uint64_t stores) {
  const uint64_t part = std::max(kMin, cache_bytes / kPartOfCache);
  return {.memtables = std::min(part, stores * kMaxMemtablesOfStore), .blocks = part};
}

Result<MemoryBudget> DivideMemory(uint64_t limit_bytes, uint64_t stores) {
  if (limit_bytes < MemoryBudget::kMinBytes) {
    return UsageError(
        "memory_limit_mb={} is less than the {} MiB that a PS node needs for itself, RocksDB and "
        "the requests under way",
        limit_bytes >> 20, MemoryBudget::kMinBytes >> 20);
  }
  MemoryBudget budget{.request_bytes = limit_bytes / 4,
                      .memtable_bytes = std::min(limit_bytes / 8,
                                                 StoreBytes::Beside(limit_bytes, stores).memtables),
                      .block_cache_bytes = limit_bytes / 16,
                      .unwritten_bytes = limit_bytes / 16,
                      .prefetch_bytes = limit_bytes / 32,
                      .cache_bytes = 0};
  // Records, and an eighth of them for slots; see RecordBytes.
  budget.cache_bytes = (limit_bytes - budget.total()) / 9 * 8;
  return budget;
}

uint64_t MemoryBudget::RecordBytes(double slot_bytes_a_byte) const {
  const double all = static_cast<double>(cache_bytes + cache_bytes / 8);
  const double of_a_byte =
      1.0 + 1.0 / kWrittenRowsOfCache + 1.0 / kSamplesOfCache + slot_bytes_a_byte;
  return std::min(cache_bytes, static_cast<uint64_t>(all / of_a_byte));
}

}  // namespace rowhouse
