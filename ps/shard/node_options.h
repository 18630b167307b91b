// NodeOptions: what the operator decides about a PS node. Settings, Server and Shard share this one
// struct, and a default is written only here.
#pragma once

#include <cstdint>
#include <string>

#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"

namespace rowhouse {

struct NodeOptions {
  std::string store = "rocksdb";  // a name of RowStores()
  std::string row_dir;           // shard directories are made here; unused by a store without files
  uint64_t cache_mb = 1024;      // MiB of rows in memory, over all shards and tables of the node
  uint64_t memory_limit_mb = 0;  // MiB of all that the node holds (MemoryBudget); 0: no limit
  double cache_ratio = 1.0;      // at most this share of each slice's rows is cached, (0, 1]
  uint32_t cache_ways = 16;      // associativity; 1: fully associative
  std::string cache_policy = kDefaultCachePolicy;  // a name of CachePolicies()
  std::string cache_access_counts;  // file of access counts, on the node; "": none are known
  double cache_warmup_ratio = 0.7;  // with access counts: share of the slots filled at the start
  // A changed row is written to the store at most this many steps later. 0: when it is evicted or
  // saved; with a push log kDirtyStepsWithLog.
  uint64_t max_dirty_steps = 0;
  std::string durability = "none";         // none, wal or fsync; the latter two keep a push log
  std::string store_compression = "none";  // of StoreEnvironmentOptions
  bool direct_reads = false;               // of StoreEnvironmentOptions
  uint32_t open_files = 0;                 // of StoreEnvironmentOptions::max_open_files
  OptionValues own;  // of options that the store and the cache policy declare themselves

  // A log that is never truncated would grow for ever.
  static constexpr uint64_t kDirtyStepsWithLog = 1000;

  bool has_files() const { return RowStores().DeclarationOf(store).has_files; }
  bool logs_pushes() const { return durability != "none"; }
  uint64_t dirty_steps() const {
    return max_dirty_steps == 0 && logs_pushes() ? kDirtyStepsWithLog : max_dirty_steps;
  }
};

}  // namespace rowhouse
