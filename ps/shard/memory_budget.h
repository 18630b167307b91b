// MemoryBudget: divides a PS node's --memory_limit_mb, so that the node stays within it.
//
//   process    code, libraries, stacks and heaps, RocksDB's open files: kProcessBytes
//   requests   pulls and pushes while they are answered and applied: a quarter
//   memtables  rows on their way to disk: an eighth, at most as in StoreBytes
//   blocks     of files, with their indexes and filters: a sixteenth
//   unwritten  copies of rows that wait for the store: a sixteenth
//   prefetch   rows being prefetched: a thirty-second
//   cache      the rest: records, 8 bytes a slot, sets of written rows, samples of accesses
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "common/status.h"

namespace rowhouse {

// Sets of written rows take at most 1/16 of a shard's bytes for caches, samples of accesses at most
// 1/32, or the minimum that they need if that is more.
inline constexpr uint64_t kWrittenRowsOfCache = 16, kSamplesOfCache = 32;

// RocksDB's memory, over all stores of a node. Larger memtables mean fewer levels and compactions,
// a larger block cache means fewer reads of indexes. Both grow with the cache, to a sixteenth of it
// each; memtables to at most 64 MiB a store.
struct StoreBytes {
  static constexpr uint64_t kMin = uint64_t{64} << 20;
  static constexpr uint64_t kMaxMemtablesOfStore = uint64_t{64} << 20;
  static constexpr uint64_t kPartOfCache = 16;

  uint64_t memtables = kMin;
  uint64_t blocks = kMin;

  // Requires stores >= 1.
  static StoreBytes Beside(uint64_t cache_bytes, uint64_t stores);
};

struct MemoryBudget {
  static constexpr uint64_t kProcessBytes = uint64_t{56} << 20;
  static constexpr uint64_t kMinBytes = uint64_t{128} << 20;

  uint64_t request_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t block_cache_bytes = 0;
  uint64_t unwritten_bytes = 0;
  uint64_t prefetch_bytes = 0;
  uint64_t cache_bytes = 0;  // of records, if slots take little beside them

  uint64_t total() const {
    return kProcessBytes + request_bytes + memtable_bytes + block_cache_bytes + unwritten_bytes +
           prefetch_bytes + cache_bytes + cache_bytes / 8;
  }

  // Bytes for records. `slot_bytes_a_byte`: bytes that slots take for each byte of records. It is
  // larger for narrower rows, for which fewer bytes are left.
  uint64_t RecordBytes(double slot_bytes_a_byte) const;
};

// `stores`: of the node, one a shard; at least 1. kUsage if the limit is below kMinBytes.
Result<MemoryBudget> DivideMemory(uint64_t limit_bytes, uint64_t stores);

}  // namespace rowhouse
