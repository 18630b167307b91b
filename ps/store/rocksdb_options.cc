#include "ps/store/rocksdb_options.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>

#include "ps/store/rocksdb_events.h"
#include "ps/store/rocksdb_files.h"

namespace rowhouse {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Memtables of a store: one fills while others are flushed. With four RocksDB would slow writes
// down before it stops them.
constexpr int kMemtables = 3;
// Shards fill their memtables at the same rate, and would all flush at once. So sizes differ by up
// to a third, spread evenly for any number of stores: fractional parts of multiples of the golden
// ratio.
size_t MemtableBytes(size_t store_bytes, size_t number) {
  const double golden = static_cast<double>(number) * 0.6180339887498949;
  const double share = 1.0 - (golden - std::floor(golden)) / 3.0;
  const size_t equal = store_bytes / kMemtables;
  return static_cast<size_t>(static_cast<double>(equal) * share);
}

// RocksDB's budget over all stores bounds memtables that fill, not those that wait for a flush; so
// each store has a share of it, and at least the minimum that RocksDB accepts.
size_t BytesOfStore(const StoreEnvironmentOptions& options) {
  constexpr size_t kMinBytes = kMemtables * (kMiB / 4);
  return std::max(options.memtable_bytes / options.stores,
                  std::min(options.memtable_bytes, kMinBytes));
}

// A compaction keeps its inputs beside its outputs, so a store runs at most its share of the
// threads at once.
int CompactionsOfStore(const StoreEnvironment& environment) {
  const auto stores = static_cast<int>(std::min<size_t>(environment.options().stores, INT_MAX));
  return std::max(1, environment.compaction_threads() / stores);
}

}  // namespace

rocksdb::ColumnFamilyOptions RowFamilyOptions(const StoreEnvironment& environment, size_t number) {
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.block_cache = environment.block_cache();
  // A Ribbon filter takes a third less memory and more time to make, which the last level's few
  // compactions pay.
  const bool filters_last = environment.options().looks_up_missing_rows;
  table.filter_policy.reset(filters_last ? rocksdb::NewRibbonFilterPolicy(10)
                                         : rocksdb::NewBloomFilterPolicy(10));
  // Indexes and filters are partitioned and live in the block cache: filters of 10^9 rows take
  // 1.2 GB, and memory must not grow with the table. (Unpartitioned they evict one another, and
  // reads take three times as long.)
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.format_version = 5;
  // Neighbouring keys differ in their last bytes: with a whole key in 16 only, indexes take a third
  // of the memory.
  table.index_block_restart_interval = 16;

  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  // Trained floats do not compress well, and rows of upper levels are read and rewritten most.
  family.compression = rocksdb::kNoCompression;
  family.bottommost_compression =
      environment.options().compression == "zstd" ? rocksdb::kZSTD : rocksdb::kNoCompression;
  // Leveled compaction. Universal compaction reads and rewrites as much, but needs more than twice
  // the rows' bytes on disk meanwhile.
  family.compaction_style = rocksdb::kCompactionStyleLevel;
  family.level_compaction_dynamic_level_bytes = true;
  // Where rows that are looked up are always stored (ps/store/written_rows.h), filters of the last
  // level, nine tenths of all, would only say yes.
  family.optimize_filters_for_hits = !filters_last;

  const size_t memtables = BytesOfStore(environment.options());
  family.write_buffer_size = MemtableBytes(memtables, number);
  family.max_write_buffer_number = kMemtables;
  // On disk, beside one copy of each row, are files of level 0, the level between, and a
  // compaction's outputs. Each is limited to about the size of the memtables.
  family.max_bytes_for_level_base = memtables;
  // They grow with the store.
  const RowFileSizes sizes = RowFileSizes::Of(0, environment.options().min_file_bytes);
  family.target_file_size_base = sizes.file_bytes;
  family.max_compaction_bytes = sizes.compaction_bytes;
  family.level0_stop_writes_trigger = 6;
  // No slowdown before the stop: with no_slowdown a slowed Put is refused like a stopped one, but
  // no event says when it may be retried.
  family.level0_slowdown_writes_trigger = family.level0_stop_writes_trigger;
  family.soft_pending_compaction_bytes_limit = family.hard_pending_compaction_bytes_limit;
  return family;
}

rocksdb::DBOptions RowDatabaseOptions(const StoreEnvironment& environment,
                                      const std::string& path) {
  rocksdb::DBOptions options;
  options.env = environment.files();
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  options.file_checksum_gen_factory = RowFileChecksums();
  options.write_buffer_manager = environment.write_buffers();
  options.max_background_flushes = environment.options().flush_threads;
  options.max_background_compactions = CompactionsOfStore(environment);
  options.max_open_files = environment.open_files_of_store();
  options.max_file_opening_threads = environment.options().opening_threads;
  options.use_direct_reads = environment.options().direct_reads;
  // Otherwise what was just written would fill the page cache, and be read from there.
  options.use_direct_io_for_flush_and_compaction = environment.options().direct_reads;
  // Without it compactions read single blocks of 4 kB.
  options.compaction_readahead_size = 256 << 10;
  options.skip_stats_update_on_db_open = true;  // It reads every file; opening 256 takes long.
  options.info_log = MakeRocksDbLog(path);
  // Not 4 MB: a node may have many stores, whose manifests are a few kB each.
  options.manifest_preallocation_size = 256 << 10;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

RowFileSizes RowFileSizes::Of(uint64_t store_bytes, uint64_t min_file_bytes) {
  constexpr uint64_t kMaxBytes = 256 * kMiB, kFiles = 128;
  const uint64_t bytes =
      std::clamp(std::bit_floor(store_bytes / kFiles), min_file_bytes, kMaxBytes);
  return {.file_bytes = bytes, .compaction_bytes = 8 * bytes};
}

uint64_t BackgroundJobs(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  uint64_t jobs = 0;
  for (const std::string& property :
       {rocksdb::DB::Properties::kMemTableFlushPending, rocksdb::DB::Properties::kNumRunningFlushes,
        rocksdb::DB::Properties::kCompactionPending,
        rocksdb::DB::Properties::kNumRunningCompactions}) {
    uint64_t value = 0;
    if (db.GetIntProperty(family, property, &value)) jobs += value;
  }
  return jobs;
}

}  // namespace rowhouse
