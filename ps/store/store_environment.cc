#include "ps/store/store_environment.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <thread>

#include "common/host_limits.h"

namespace rowhouse {
namespace {

constexpr size_t kMinMemtableBytes = size_t{256} << 10;  // RocksDB's minimum is 64 kB a memtable.
constexpr int kMaxThreads = 256;
// The disk measured answers 11,000 reads of 4 kB a second to one thread, 37,000 to 8 and 43,000
// to 16.
constexpr int kDirectReadThreads = 16;

size_t ReadThreads(const StoreEnvironmentOptions& options) {
  if (options.read_threads > 0) return static_cast<size_t>(options.read_threads);
  return options.direct_reads ? kDirectReadThreads : 1;
}

Status ValidateThreads(const char* field, int threads) {
  if (threads >= 1 && threads <= kMaxThreads) return OkStatus();
  return UsageError("{}={} must be 1 to {}", field, threads, kMaxThreads);
}

}  // namespace

Status StoreEnvironmentOptions::Validate() const {
  if (block_cache_bytes == 0) return UsageError("block_cache_bytes=0 must be at least 1");
  if (memtable_bytes < kMinMemtableBytes) {
    return UsageError("memtable_bytes={} must be at least {}", memtable_bytes, kMinMemtableBytes);
  }
  if (stores == 0) return UsageError("stores=0 must be at least 1");
  RETURN_IF_ERROR(ValidateThreads("flush_threads", flush_threads));
  if (compaction_threads != 0) {
    RETURN_IF_ERROR(ValidateThreads("compaction_threads", compaction_threads));
  }
  if (read_threads != 0) RETURN_IF_ERROR(ValidateThreads("read_threads", read_threads));
  if (compression != "none" && compression != "zstd") {
    return UsageError("compression=\"{}\" must be none or zstd", compression);
  }
  if (max_open_files < 0)
    return UsageError("max_open_files={} must not be negative", max_open_files);
  if (stall_limit_ms < 0)
    return UsageError("stall_limit_ms={} must not be negative", stall_limit_ms);
  return OkStatus();
}

StoreEnvironment::StoreEnvironment(const StoreEnvironmentOptions& options)
    : options_(options),
      files_(options.files != nullptr ? options.files : rocksdb::Env::Default()),
      reads_(ReadThreads(options)) {
  const Status valid = options.Validate();
  CHECK(valid.ok()) << valid.ToString();
  block_cache_ = rocksdb::NewLRUCache(options.block_cache_bytes);
  // Without allow_stall: a store that is over budget flushes, and stalls are reported per store.
  write_buffers_ = std::make_shared<rocksdb::WriteBufferManager>(options.memtable_bytes);
  // Pools belong to RocksDB's one Env per process. They are only raised, because another
  // environment (of another cluster in this process) may count on its threads.
  rocksdb::Env* env = rocksdb::Env::Default();
  // Reads and flushes have priority at the disk. Not at the CPU: a stalled Put waits for
  // compaction, which would starve beside workers that use all cores.
  env->LowerThreadPoolIOPriority(rocksdb::Env::Priority::LOW);
  env->IncBackgroundThreadsIfNeeded(options.flush_threads, rocksdb::Env::Priority::HIGH);
  env->IncBackgroundThreadsIfNeeded(compaction_threads(), rocksdb::Env::Priority::LOW);
}

StoreEnvironment::~StoreEnvironment() = default;

int StoreEnvironment::compaction_threads() const {
  if (options_.compaction_threads > 0) return options_.compaction_threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 2, kMaxThreads);
}

int StoreEnvironment::open_files_of_store() const {
  constexpr uint64_t kMin = 16, kMax = uint64_t{1} << 20;
  const uint64_t all = options_.max_open_files > 0 ? static_cast<uint64_t>(options_.max_open_files)
                                                   : OpenFilesLimit() / 2;
  return static_cast<int>(std::clamp<uint64_t>(all / options_.stores, kMin, kMax));
}

size_t StoreEnvironment::block_cache_used_bytes() const { return block_cache_->GetUsage(); }

}  // namespace rowhouse
