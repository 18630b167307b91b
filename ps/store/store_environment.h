// StoreEnvironment: block cache, memtable budget and threads that all row stores of a process
// share, so that many shards need no more memory or threads than one.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"
#include "ps/store/parallel_reads.h"

namespace rocksdb {
class Cache;
class Env;
class WriteBufferManager;
}  // namespace rocksdb

namespace rowhouse {

struct StoreEnvironmentOptions {
  // Blocks of files, their indexes and filters. Small, as rows have a cache of their own above it.
  size_t block_cache_bytes = size_t{64} << 20;
  // Rows written and not flushed yet, of all stores together. A store flushes when it holds a third
  // of its equal share, and stalls when it holds all of it.
  size_t memtable_bytes = size_t{64} << 20;
  size_t stores = 1;  // that will be open at once
  // Threads of the process; RocksDB's pools only ever grow.
  int flush_threads = 1;
  // Shared by the stores; 0: half of the CPU's cores, at least two, as compactions wait for the
  // disk.
  int compaction_threads = 0;
  // Table files that all stores together keep open, each at least 16; 0: half of the limit of the
  // process's descriptors, which is raised first. The rest is for peers.
  int max_open_files = 0;
  // Which open the table files of a store when it is opened. Tests make it small, as of
  // min_file_bytes.
  int opening_threads = 16;
  // Of a store's files once they are compacted, about; beyond 128 files they become larger. Tests
  // make it small.
  uint64_t min_file_bytes = uint64_t{8} << 20;
  // Whether rows may be looked up that are not stored: then the last level has filters, too.
  bool looks_up_missing_rows = false;
  // Of the last level, which holds nine tenths of the rows: "none" or "zstd". zstd gains little on
  // trained floats, more on bf16, on rows that few steps touched and on momenta of zero.
  std::string compression = "none";
  // Reads and writes bypass the system's page cache (O_DIRECT): for hosts whose memory is for rows,
  // or limited. Each read then waits for the disk, so several threads read at once.
  bool direct_reads = false;
  // Threads that read for one Get; 0: 16 with direct_reads, else 1.
  int read_threads = 0;
  // RocksDB's access to files, for tests; null: the system's. Must outlive the environment.
  rocksdb::Env* files = nullptr;
  // How long a Put waits for flushes and compactions, ms; then kResourceExhausted.
  int64_t stall_limit_ms = 30'000;

  // kUsage, naming the field, if a value is out of range.
  Status Validate() const;
};

class StoreEnvironment {
 public:
  // Requires options.Validate().ok().
  explicit StoreEnvironment(const StoreEnvironmentOptions& options);
  ~StoreEnvironment();
  StoreEnvironment(const StoreEnvironment&) = delete;
  StoreEnvironment& operator=(const StoreEnvironment&) = delete;

  const StoreEnvironmentOptions& options() const { return options_; }
  const std::shared_ptr<rocksdb::Cache>& block_cache() const { return block_cache_; }
  const std::shared_ptr<rocksdb::WriteBufferManager>& write_buffers() const {
    return write_buffers_;
  }

  int compaction_threads() const;  // of the process, at least 1
  int open_files_of_store() const;
  rocksdb::Env* files() const { return files_; }
  ParallelReads& reads() { return reads_; }
  // 0, 1, 2, ... for the stores in the order they are opened.
  size_t NextStoreNumber() { return stores_++; }

  // In use right now.
  size_t block_cache_used_bytes() const;

 private:
  const StoreEnvironmentOptions options_;
  std::shared_ptr<rocksdb::Cache> block_cache_;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
  rocksdb::Env* const files_;
  ParallelReads reads_;
  std::atomic<size_t> stores_ = 0;
};

}  // namespace rowhouse
