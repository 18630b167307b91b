// Rows in RocksDB, used as a durable tier: checksums written and verified on every read, stalls
// and full disks told instead of slept through, no write-ahead log, because Sync() is a flush of
// the memtables and what comes after it is in the push log.
//
// One database per shard with one column family, `rows`, beside the `default` RocksDB insists on.
// Key: ps/store_key.h. Value: the record as it is (sharding/record.h), uncompressed: trained floats
// do not compress. A Put is one WriteBatch and therefore lies in one memtable: flushed whole or
// lost whole.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <numeric>

#include "common/durable_file.h"
#include "ps/row_store.h"
#include "ps/store_environment.h"
#include "ps/store_key.h"

namespace rowhouse {
namespace {

constexpr char kRowsFamily[] = "rows";
// Keys of one MultiGet. Enough to share index and filter reads, few enough that the blocks they
// pin stay small beside the block cache.
constexpr size_t kSliceKeys = 256;
// A stall may end without an event (another store's flush frees the shared budget), so look now
// and then.
constexpr auto kStallPoll = std::chrono::milliseconds(20);

// Wakes a stalled Put when RocksDB says that its stall conditions changed. RocksDB calls it on
// its own threads.
class StallListener final : public rocksdb::EventListener {
 public:
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo&) override {
    {
      std::lock_guard lock(mutex_);
      ++changes_;
    }
    changed_.notify_all();
  }
  uint64_t changes() {
    std::lock_guard lock(mutex_);
    return changes_;
  }
  // Waits until there were more changes than `seen` or `limit` has passed.
  void WaitForMoreThan(uint64_t seen, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return changes_ > seen; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t changes_ = 0;
};

// RocksDB says much only by text: the strerror of its system calls stands in its messages.
bool Mentions(const rocksdb::Status& status, std::string_view text) {
  return status.ToString().find(text) != std::string::npos;
}

Status Translate(const rocksdb::Status& status, const std::string& path, std::string_view what) {
  if (status.ok()) return OkStatus();
  if (status.IsNoSpace()) {
    // RocksDB refuses writes from here on, looks at the disk every 5 s and goes on by itself once
    // a memtable's bytes are free (tried with 7.8). What was Put stays in memory until then.
    return MakeStatus(StatusCode::kResourceExhausted, "row directory {}: {}: the disk is full: {}",
                      path, what, status.ToString());
  }
  StatusCode code = StatusCode::kIoError;
  if (status.IsCorruption()) code = StatusCode::kCorruption;
  if (Mentions(status, "Permission denied") || Mentions(status, "Read-only file system")) {
    code = StatusCode::kUsage;
  }
  return MakeStatus(code, "row directory {}: {}: {}", path, what, status.ToString());
}

// Opening fails in more ways that the operator can mend.
Status TranslateOpen(const rocksdb::Status& status, const std::string& path) {
  if (status.IsIOError() && Mentions(status, "LOCK: Resource temporarily unavailable")) {
    return UsageError(
        "row directory {} is in use by another process (its LOCK is held); wait until that has "
        "ended, or give another --row_dir",
        path);
  }
  if (status.IsIOError() && Mentions(status, "lock hold by current process")) {
    return UsageError("row directory {} is in use by this process already (its LOCK is held): {}",
                      path, status.ToString());
  }
  if (status.IsInvalidArgument()) {
    return UsageError("row directory {} holds a RocksDB database that is not ours: {}", path,
                      status.ToString());
  }
  return Translate(status, path, "open");
}

rocksdb::ColumnFamilyOptions FamilyOptions(const StoreEnvironment& environment) {
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.block_cache = environment.block_cache();
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Indexes and filters live in the block cache by parts: filters of 10^9 rows take 1.2 GB, and
  // memory must not grow with the table.
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;

  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  family.compression = rocksdb::kNoCompression;
  family.bottommost_compression = rocksdb::kNoCompression;
  family.level_compaction_dynamic_level_bytes = true;
  // Three memtables of a third each: one fills while others flush, and a store that outruns its
  // disk stalls at the budget instead of passing it. With four RocksDB would slow writes down
  // before it stops them.
  family.write_buffer_size = environment.options().memtable_bytes / 3;
  family.max_write_buffer_number = 3;
  // No slowing down elsewhere either: with no_slowdown a slowed Put is refused as a stopped one
  // is, but no event tells when it may go on.
  family.level0_slowdown_writes_trigger = family.level0_stop_writes_trigger;
  family.soft_pending_compaction_bytes_limit = family.hard_pending_compaction_bytes_limit;
  return family;
}

rocksdb::DBOptions DatabaseOptions(const StoreEnvironment& environment) {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  options.write_buffer_manager = environment.write_buffers();
  options.max_background_flushes = environment.options().flush_threads;
  options.max_background_compactions = environment.options().compaction_threads;
  options.max_open_files = environment.options().max_open_files;
  options.skip_stats_update_on_db_open = true;  // It reads every file; opening 256 takes long.
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_log_file_size = size_t{16} << 20;
  options.keep_log_file_num = 4;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

class RocksDbStore final : public RowStore {
 public:
  static Result<std::unique_ptr<RowStore>> Open(const RowStoreOptions& options);

  ~RocksDbStore() override {
    // Flushes what is left, so that an orderly end loses nothing; only Sync promises it.
    if (rows_ != nullptr) (void)db_->DestroyColumnFamilyHandle(rows_);
    if (default_ != nullptr) (void)db_->DestroyColumnFamilyHandle(default_);
    if (db_ == nullptr) return;
    const rocksdb::Status closed = db_->Close();
    LOG_IF(WARNING, !closed.ok()) << Translate(closed, path_, "close").message();
  }

  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override;
  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override;
  Status Sync() override;
  Status Scan(const Visitor& visit) override;
  RowStoreCounters counters() const override {
    return {rows_read_, rows_written_, stalls_, stall_ms_};
  }

 private:
  explicit RocksDbStore(const RowStoreOptions& options)
      : path_(options.path), read_only_(options.read_only), environment_(options.environment) {
    if (environment_ == nullptr) {
      environment_ = std::make_shared<StoreEnvironment>(StoreEnvironmentOptions{});
    }
  }
  Status OpenDatabase();
  // Reads rows[order[first .. first + n)], n <= kSliceKeys, in ascending order.
  Status GetSorted(const StoreSlice& slice, std::span<const RowId> rows,
                   std::span<const size_t> order, std::span<std::byte> out,
                   std::vector<size_t>* missing);
  Status WriteOrGiveUp(rocksdb::WriteBatch* batch);

  const std::string path_;
  const bool read_only_;
  std::shared_ptr<StoreEnvironment> environment_;
  std::shared_ptr<StallListener> stall_listener_ = std::make_shared<StallListener>();
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_ = nullptr;
  rocksdb::ColumnFamilyHandle* rows_ = nullptr;
  std::atomic<uint64_t> rows_read_ = 0;
  std::atomic<uint64_t> rows_written_ = 0;
  std::atomic<uint64_t> stalls_ = 0;
  std::atomic<uint64_t> stall_ms_ = 0;

  // Kept between calls for their memory.
  rocksdb::WriteBatch batch_;
  std::vector<size_t> order_;
  std::vector<StoreKey::Encoded> keys_ = std::vector<StoreKey::Encoded>(kSliceKeys);
  std::vector<rocksdb::Slice> key_slices_ = std::vector<rocksdb::Slice>(kSliceKeys);
  std::vector<rocksdb::PinnableSlice> values_ = std::vector<rocksdb::PinnableSlice>(kSliceKeys);
  std::vector<rocksdb::Status> statuses_ = std::vector<rocksdb::Status>(kSliceKeys);
};

Result<std::unique_ptr<RowStore>> RocksDbStore::Open(const RowStoreOptions& options) {
  if (options.path.empty()) return UsageError("the store \"rocksdb\" needs a directory");
  if (!options.read_only) {
    RETURN_IF_ERROR(MakeDirectoryDurably(options.path).Annotate("row directory"));
  } else if (const Result<std::string> current = ReadFile(options.path + "/CURRENT");
             !current.ok()) {
    return current.status().Annotate(fmt::format("no rows in {}", options.path));
  }
  std::unique_ptr<RocksDbStore> store(new RocksDbStore(options));
  RETURN_IF_ERROR(store->OpenDatabase());
  return std::unique_ptr<RowStore>(std::move(store));
}

Status RocksDbStore::OpenDatabase() {
  rocksdb::DBOptions options = DatabaseOptions(*environment_);
  options.listeners.push_back(stall_listener_);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, FamilyOptions(*environment_)},
      {kRowsFamily, FamilyOptions(*environment_)}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      read_only_ ? rocksdb::DB::OpenForReadOnly(options, path_, families, &handles, &db)
                 : rocksdb::DB::Open(options, path_, families, &handles, &db);
  if (!opened.ok()) return TranslateOpen(opened, path_);
  db_.reset(db);
  default_ = handles[0];
  rows_ = handles[1];
  return OkStatus();
}

Status RocksDbStore::Get(const StoreSlice& slice, std::span<const RowId> rows,
                         std::span<std::byte> out, std::vector<size_t>* missing) {
  CHECK_EQ(out.size(), rows.size() * slice.record_bytes);
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  const bool sorted = std::is_sorted(rows.begin(), rows.end());
  if (!sorted) {
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  }
  const size_t missing_before = missing->size();
  for (size_t first = 0; first < rows.size(); first += kSliceKeys) {
    const size_t n = std::min(kSliceKeys, rows.size() - first);
    RETURN_IF_ERROR(GetSorted(slice, rows, std::span(order_).subspan(first, n), out, missing));
  }
  if (!sorted) std::sort(missing->begin() + missing_before, missing->end());
  rows_read_ += rows.size();
  return OkStatus();
}

Status RocksDbStore::GetSorted(const StoreSlice& slice, std::span<const RowId> rows,
                               std::span<const size_t> order, std::span<std::byte> out,
                               std::vector<size_t>* missing) {
  for (size_t k = 0; k < order.size(); ++k) {
    keys_[k] = StoreKey{slice.table, rows[order[k]], slice.first_column}.Encode();
    key_slices_[k] = rocksdb::Slice(keys_[k].data(), StoreKey::kBytes);
  }
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  db_->MultiGet(options, rows_, order.size(), key_slices_.data(), values_.data(), statuses_.data(),
                /*sorted_input=*/true);
  Status result;
  for (size_t k = 0; k < order.size(); ++k) {
    const rocksdb::Slice value = values_[k];
    if (!result.ok()) {
      // Fall through to Reset: a pinned block left behind would stay in the cache.
    } else if (statuses_[k].IsNotFound()) {
      missing->push_back(order[k]);
    } else if (!statuses_[k].ok()) {
      result = Translate(statuses_[k], path_,
                         fmt::format("table {} row {}", Raw(slice.table), Raw(rows[order[k]])));
    } else if (value.size() != slice.record_bytes) {
      result = WrongRecordSize(slice, rows[order[k]], value.size(), "row directory " + path_);
    } else {
      std::memcpy(out.data() + order[k] * slice.record_bytes, value.data(), value.size());
    }
    values_[k].Reset();
  }
  return result;
}

Status RocksDbStore::Put(const StoreSlice& slice, std::span<const RowId> rows,
                         std::span<const std::byte> records) {
  CHECK(!read_only_) << "Put to a store opened for reading";
  CHECK_EQ(records.size(), rows.size() * slice.record_bytes);
  batch_.Clear();
  for (size_t i = 0; i < rows.size(); ++i) {
    const StoreKey::Encoded key = StoreKey{slice.table, rows[i], slice.first_column}.Encode();
    const char* record = reinterpret_cast<const char*>(records.data()) + i * slice.record_bytes;
    const rocksdb::Status added = batch_.Put(rows_, rocksdb::Slice(key.data(), StoreKey::kBytes),
                                             rocksdb::Slice(record, slice.record_bytes));
    if (!added.ok()) return Translate(added, path_, "put");
  }
  RETURN_IF_ERROR(WriteOrGiveUp(&batch_));
  rows_written_ += rows.size();
  return OkStatus();
}

// The I/O thread may wait, the shard's may not: so the wait for flush and compaction is here,
// bounded, and RocksDB's own (unbounded, unseen) is off.
Status RocksDbStore::WriteOrGiveUp(rocksdb::WriteBatch* batch) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  options.no_slowdown = true;
  using SteadyClock = std::chrono::steady_clock;
  const std::chrono::milliseconds limit(environment_->options().stall_limit_ms);
  const SteadyClock::time_point start = SteadyClock::now();
  for (bool stalled = false;; stalled = true) {
    const uint64_t changes =
        stall_listener_->changes();  // Before the write: no change can be missed.
    const rocksdb::Status written = db_->Write(options, batch);
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
    const bool refused = written.IsIncomplete();
    if (refused && !stalled) ++stalls_;
    if (refused && waited < limit) {
      stall_listener_->WaitForMoreThan(changes, std::min(limit - waited, kStallPoll));
      continue;
    }
    if (refused || stalled) stall_ms_ += waited.count();
    if (!refused) return Translate(written, path_, "put");
    return MakeStatus(StatusCode::kResourceExhausted,
                      "row directory {}: put: writes have stalled for {} ms, because flush and "
                      "compaction are slower than the rows that arrive: {}",
                      path_, waited.count(), written.ToString());
  }
}

Status RocksDbStore::Sync() {
  if (read_only_) return OkStatus();
  rocksdb::FlushOptions options;
  options.wait = true;
  // A flush makes room; waiting until there is room first would only take longer.
  options.allow_write_stall = true;
  return Translate(db_->Flush(options, rows_), path_, "sync");
}

Status RocksDbStore::Scan(const Visitor& visit) {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;  // A scan reads everything once; the rows of pulls should stay.
  options.readahead_size = size_t{2} << 20;
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options, rows_));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    if (at->key().size() != StoreKey::kBytes) {
      return CorruptionError("row directory {}: a key of {} bytes where {} are due", path_,
                             at->key().size(), StoreKey::kBytes);
    }
    const StoreKey key = StoreKey::Decode(at->key().data());
    const std::span<const char> value(at->value().data(), at->value().size());
    RETURN_IF_ERROR(visit(key.table, key.row, key.first_column, std::as_bytes(value)));
  }
  return Translate(at->status(), path_, "scan");
}

const bool kRegistered = RowStores().Add("rocksdb", &RocksDbStore::Open);

}  // namespace
}  // namespace rowhouse
