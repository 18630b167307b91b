// MemoryBudget: how a PS node's --memory_limit_mb is divided, so that all it holds stays within it.
//
//   process    code, libraries, stacks and heaps, RocksDB's tables of open files: kProcessBytes
//   requests   what pulls and pushes hold while they are answered and applied: a quarter
//   memtables  rows on their way to disk: an eighth, at most as StoreBytes has it
//   blocks     of files read, with their indexes and filters: a sixteenth
//   unwritten  copies of rows that wait for the store: a sixteenth
//   announced  rows that are read before they are asked for: a thirty-second
//   cache      the rest: records, 8 bytes a slot beside them, which rows were ever written, and
//              samples of what is asked for
//
// Threads: pure functions.
#pragma once

#include <cstdint>

#include "common/status.h"

namespace rowhouse {

// Beside its caches a shard keeps which rows were ever written, and samples of what its tables are
// asked for: a sixteenth and a thirty-second of its bytes for caches, or the least they do with.
inline constexpr uint64_t kWrittenRowsOfCache = 16, kSamplesOfCache = 32;

// Of RocksDB, over all stores of a node that gives its rows `cache_bytes`. More memtables are fewer
// levels and compactions, more blocks are indexes that need not be read: of large tables both want
// to grow with the cache, to a sixteenth of it each, but memtables to no more than 64 MiB a store.
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
  uint64_t cache_bytes = 0;  // of records alone, if little lies beside them

  uint64_t total() const {
    return kProcessBytes + request_bytes + memtable_bytes + block_cache_bytes + unwritten_bytes +
           prefetch_bytes + cache_bytes + cache_bytes / 8;
  }

  // What records may take where so many bytes of slots lie beside each of theirs: narrow rows leave
  // less for themselves.
  uint64_t RecordBytes(double slot_bytes_a_byte) const;
};

// Of a node with so many stores (shards), at least 1. kUsage if the limit is below kMinBytes.
Result<MemoryBudget> DivideMemory(uint64_t limit_bytes, uint64_t stores);

}  // namespace rowhouse
