// Rows in RocksDB. Checksums are verified on every read; stalls and full disks are reported, not
// waited out; there is no write-ahead log, as Sync() flushes the memtables and the push log holds
// what comes after.
//
// Options: ps/store/rocksdb_options.h. One database per shard with one column family, `rows`,
// beside the `default` that RocksDB requires. Key: ps/store/store_key.h. Value: the record
// (sharding/rows/record.h). A Put is one WriteBatch and so lies in one memtable: it is flushed as a
// whole or lost as a whole.
#include <rocksdb/db.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <optional>

#include "common/durable_file.h"
#include "ps/store/rocksdb_database.h"
#include "ps/store/rocksdb_events.h"
#include "ps/store/rocksdb_options.h"
#include "ps/store/rocksdb_row_files.h"
#include "ps/store/row_store.h"
#include "ps/store/store_environment.h"
#include "ps/store/store_key.h"

namespace rowhouse {
namespace {

// Most keys of one MultiGet: enough to share reads of indexes and filters, few enough that the
// blocks they pin stay small beside the block cache. And the fewest that are worth a thread.
constexpr size_t kSliceKeys = 256;
constexpr size_t kMinKeys = 8;
// A stall may end without an event (another store's flush frees the shared budget), so it is
// polled.
constexpr auto kStallPoll = std::chrono::milliseconds(20);
// How often a write is tried although the disk still looks full.
constexpr auto kTryAnyway = std::chrono::seconds(1);

using Properties = rocksdb::DB::Properties;

class RocksDbStore final : public RowStore {
 public:
  static Result<std::unique_ptr<RowStore>> Open(const RowStoreOptions& options);

  ~RocksDbStore() override {
    // Flushes what is left: an orderly end loses nothing, though only Sync promises that.
    if (rows_ == nullptr) return;
    rows_.reset();
    LogCounters();
  }

  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override;
  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override;
  Status Sync() override;
  Status Scan(const Visitor& visit) override;
  Status ScanRows(TableId table, RowId first, RowId end, const Visitor& visit) override;
  Result<std::unique_ptr<RowCursor>> Cursor(const RowRange& range) const override;
  uint64_t BytesOf(const RowRange& range) const override;
  Result<std::unique_ptr<RowFileWriter>> NewRowFile(const std::string& path) const override;
  Status Ingest(std::span<const RowFile> files) override;
  RowStoreCounters counters() const override;
  Status Settle() override;
  std::string stamp() const override { return rows_->stamp(); }
  Status Verify(const NameOfTable& name_of) override { return rows_->Verify(name_of); }
  Result<std::string> Checkpoint(const std::string& directory) override;
  uint64_t bytes_in_memory() const override;
  Status Compact() override;
  std::vector<RowStoreLevel> levels() const override { return rows_->levels(); }
  Result<std::string> compression() const override { return rows_->compression(); }

 private:
  explicit RocksDbStore(const RowStoreOptions& options)
      : path_(options.path),
        read_only_(options.read_only),
        is_settled_(!options.expected_stamp.empty()),
        environment_(options.environment) {
    if (environment_ == nullptr) {
      environment_ = std::make_shared<StoreEnvironment>(StoreEnvironmentOptions{});
    }
    file_bytes_ = environment_->options().min_file_bytes;
    slots_.resize(environment_->reads().threads());
  }
  // Files change again.
  void Unsettle();

  // What one thread needs to read a slice; kept between calls for its memory.
  struct Slots {
    std::vector<StoreKey::Encoded> keys = std::vector<StoreKey::Encoded>(kSliceKeys);
    std::vector<rocksdb::Slice> key_slices = std::vector<rocksdb::Slice>(kSliceKeys);
    std::vector<rocksdb::PinnableSlice> values = std::vector<rocksdb::PinnableSlice>(kSliceKeys);
    std::vector<rocksdb::Status> statuses = std::vector<rocksdb::Status>(kSliceKeys);
  };
  // Reads rows[k] for the k in `order`, at most kSliceKeys, whose rows ascend; is_found[k] says
  // whether row k is stored.
  Status GetSorted(const StoreSlice& slice, std::span<const RowId> rows,
                   std::span<const size_t> order, std::span<std::byte> out, Slots& slots,
                   std::span<uint8_t> is_found);
  // nullopt: all.
  Status ScanKeys(const std::optional<KeyRange>& range, const Visitor& visit);
  Status WriteOrGiveUp(rocksdb::WriteBatch* batch);
  Status MakeRoom();
  void LogCounters() const;
  // Files grow with the store. To be called before compactions may begin.
  void FitFileSizes();
  // Translates the status of a write or flush.
  Status Written(const rocksdb::Status& status, std::string_view what);

  const std::string path_;
  const bool read_only_;
  // No flush or compaction changes the files until the next Put: of a store opened with an expected
  // stamp by an option, later by a pause.
  bool is_settled_;
  bool is_paused_ = false;
  std::shared_ptr<StoreEnvironment> environment_;
  std::shared_ptr<RocksDbEvents> events_ = std::make_shared<RocksDbEvents>();
  std::unique_ptr<RowDatabase> rows_;
  std::atomic<uint64_t> rows_read_ = 0;
  std::atomic<uint64_t> rows_written_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;
  std::atomic<uint64_t> bytes_written_ = 0;
  std::atomic<uint64_t> file_bytes_read_ = 0;
  std::atomic<uint64_t> file_reads_ = 0;
  std::atomic<uint64_t> stalls_ = 0;
  std::atomic<uint64_t> stall_ms_ = 0;
  std::atomic<uint64_t> memtable_bytes_ = 0;  // the most so far
  uint64_t file_bytes_ = 0;
  uint64_t next_fit_ = 0;  // FitFileSizes is due once bytes_written_ reaches it

  // When to try a full disk again; unset: it is not full.
  std::optional<std::chrono::steady_clock::time_point> next_try_;
  // Kept between calls for their memory.
  rocksdb::WriteBatch batch_;
  std::vector<size_t> order_;
  std::vector<uint8_t> is_found_;
  std::vector<Status> results_;
  std::vector<Slots> slots_;  // one a reading thread
};

Result<std::unique_ptr<RowStore>> RocksDbStore::Open(const RowStoreOptions& options) {
  if (options.path.empty()) return UsageError("the store \"rocksdb\" needs a directory");
  if (!options.read_only && options.creates) {
    RETURN_IF_ERROR(MakeDirectoryDurably(options.path).Annotate("row directory"));
  } else if (const Result<std::string> current = ReadFile(options.path + "/CURRENT");
             !current.ok()) {
    return current.status().Annotate(fmt::format("no rows in {}", options.path));
  } else if (options.read_only) {
    RETURN_IF_ERROR(CheckNotInUse(options.path));
  }
  if (!options.read_only && !options.expected_stamp.empty()) {
    // Opening a database for writing deletes files that it does not name, and these may be all that
    // is left of the rows; so the stamp is checked read-only first.
    RowStoreOptions looks = options;
    looks.read_only = true;
    looks.keeps_only.clear();
    RETURN_IF_ERROR(Open(looks).status());
  }
  std::unique_ptr<RocksDbStore> store(new RocksDbStore(options));
  RowStoreOptions opened = options;
  opened.environment = store->environment_;
  ASSIGN_OR_RETURN(store->rows_, RowDatabase::Open(opened, store->events_));
  if (!options.expected_stamp.empty()) {
    RETURN_IF_ERROR(store->rows_->CheckStamp(options.expected_stamp));
  }
  if (!options.keeps_only.empty()) {
    CHECK(!options.read_only && store->is_settled_);
    RETURN_IF_ERROR(store->rows_->KeepOnly(options.keeps_only));
  }
  return std::unique_ptr<RowStore>(std::move(store));
}

RowStoreCounters RocksDbStore::counters() const {
  return {.rows_read = rows_read_,
          .rows_written = rows_written_,
          .stalls = stalls_,
          .stall_ms = stall_ms_,
          .bytes_read = bytes_read_,
          .bytes_written = bytes_written_,
          .file_bytes_read = file_bytes_read_,
          .file_reads = file_reads_,
          .bytes_flushed = events_->bytes_flushed(),
          .bytes_compacted = events_->bytes_compacted(),
          .disk_full = events_->times_disk_full(),
          .background_jobs = rows_ == nullptr ? 0 : BackgroundJobs(rows_->db(), rows_->rows()),
          .memtable_bytes = memtable_bytes_,
          .table_reader_bytes =
              rows_ == nullptr ? 0 : rows_->Property(Properties::kEstimateTableReadersMem),
          .block_cache_bytes = environment_->block_cache_used_bytes() /
                               std::max<size_t>(environment_->options().stores, 1),
          .file_bytes = rows_ == nullptr ? 0 : rows_->Property(Properties::kLiveSstFilesSize)};
}

// Logged as a warning if Puts had to wait.
void RocksDbStore::LogCounters() const {
  const RowStoreCounters c = counters();
  const std::string text = fmt::format(
      "rows at rest path={} rows_read={} rows_written={} read_amplification={:.1f} "
      "write_amplification={:.1f} stalls={} stall_ms={} disk_full={}",
      path_, c.rows_read, c.rows_written, c.read_amplification(), c.write_amplification(), c.stalls,
      c.stall_ms, c.disk_full);
  if (c.stalls > 0 || c.disk_full > 0) {
    LOG(INFO) << text;
  } else {
    VLOG(1) << text;
  }
}

Status RocksDbStore::Get(const StoreSlice& slice, std::span<const RowId> rows,
                         std::span<std::byte> out, std::vector<size_t>* missing) {
  CHECK_EQ(out.size(), rows.size() * slice.record_bytes);
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (!std::is_sorted(rows.begin(), rows.end())) {
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  }
  is_found_.assign(rows.size(), 0);
  const size_t batch_rows = environment_->reads().RowsOfCall(rows.size(), kMinKeys, kSliceKeys);
  results_.assign((rows.size() + batch_rows - 1) / batch_rows, OkStatus());
  environment_->reads().Run(results_.size(), [&](size_t thread, size_t i) {
    const size_t first = i * batch_rows;
    const size_t n = std::min(batch_rows, rows.size() - first);
    results_[i] =
        GetSorted(slice, rows, std::span(order_).subspan(first, n), out, slots_[thread], is_found_);
  });
  for (const Status& result : results_) RETURN_IF_ERROR(result);
  const size_t missing_before = missing->size();
  for (size_t k = 0; k < rows.size(); ++k) {
    if (is_found_[k] == 0) missing->push_back(k);
  }
  rows_read_ += rows.size();
  bytes_read_ += (rows.size() - (missing->size() - missing_before)) * slice.record_bytes;
  return OkStatus();
}

Status RocksDbStore::GetSorted(const StoreSlice& slice, std::span<const RowId> rows,
                               std::span<const size_t> order, std::span<std::byte> out,
                               Slots& slots, std::span<uint8_t> is_found) {
  for (size_t k = 0; k < order.size(); ++k) {
    slots.keys[k] = StoreKey{slice.table, rows[order[k]], slice.first_column}.Encode();
    slots.key_slices[k] = rocksdb::Slice(slots.keys[k].data(), StoreKey::kBytes);
  }
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  // A row goes to the rows' own cache; its block would only evict indexes from this one. (A fifth
  // less time a row; indexes and filters are cached all the same.)
  options.fill_cache = false;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);  // Of this thread.
  rocksdb::PerfContext& seen = *rocksdb::get_perf_context();
  const uint64_t bytes_before = seen.block_read_byte, reads_before = seen.block_read_count;
  rows_->db().MultiGet(options, rows_->rows(), order.size(), slots.key_slices.data(),
                       slots.values.data(), slots.statuses.data(), /*sorted_input=*/true);
  file_bytes_read_ += seen.block_read_byte - bytes_before;
  file_reads_ += seen.block_read_count - reads_before;
  Status result;
  for (size_t k = 0; k < order.size(); ++k) {
    const rocksdb::Slice value = slots.values[k];
    const rocksdb::Status& status = slots.statuses[k];
    if (!result.ok() || status.IsNotFound()) {
      // Fall through to Reset: a pinned block left behind would stay in the cache.
    } else if (!status.ok()) {
      result = Translate(status, path_,
                         fmt::format("table {} row {}", Raw(slice.table), Raw(rows[order[k]])));
    } else if (value.size() != slice.record_bytes) {
      result = WrongRecordSize(slice, rows[order[k]], value.size(), "row directory " + path_);
    } else {
      std::memcpy(out.data() + order[k] * slice.record_bytes, value.data(), value.size());
      is_found[order[k]] = 1;
    }
    slots.values[k].Reset();
  }
  return result;
}

Status RocksDbStore::Put(const StoreSlice& slice, std::span<const RowId> rows,
                         std::span<const std::byte> records) {
  CHECK(!read_only_) << "Put to a store opened for reading";
  CHECK_EQ(records.size(), rows.size() * slice.record_bytes);
  if (bytes_written_ >= next_fit_) FitFileSizes();
  Unsettle();
  batch_.Clear();
  // In key order, so that each goes into the memtable next to the one before.
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (!std::is_sorted(rows.begin(), rows.end())) {
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  }
  for (const size_t i : order_) {
    const StoreKey::Encoded key = StoreKey{slice.table, rows[i], slice.first_column}.Encode();
    const char* record = reinterpret_cast<const char*>(records.data()) + i * slice.record_bytes;
    const rocksdb::Status added =
        batch_.Put(rows_->rows(), rocksdb::Slice(key.data(), StoreKey::kBytes),
                   rocksdb::Slice(record, slice.record_bytes));
    if (!added.ok()) return Translate(added, path_, "put");
  }
  RETURN_IF_ERROR(WriteOrGiveUp(&batch_));
  const uint64_t in_memory = rows_->Property(Properties::kCurSizeAllMemTables);
  if (in_memory > memtable_bytes_) memtable_bytes_ = in_memory;
  rows_written_ += rows.size();
  bytes_written_ += records.size();
  return OkStatus();
}

void RocksDbStore::FitFileSizes() {
  constexpr uint64_t kFitBytes = uint64_t{64} << 20;
  next_fit_ = bytes_written_ + kFitBytes;
  const RowFileSizes sizes = RowFileSizes::Of(rows_->Property(Properties::kLiveSstFilesSize),
                                              environment_->options().min_file_bytes);
  if (sizes.file_bytes == file_bytes_) return;
  file_bytes_ = sizes.file_bytes;
  const rocksdb::Status set = rows_->db().SetOptions(
      rows_->rows(), {{"target_file_size_base", fmt::format("{}", sizes.file_bytes)},
                      {"max_compaction_bytes", fmt::format("{}", sizes.compaction_bytes)}});
  LOG_IF(WARNING, !set.ok()) << Translate(set, path_, "larger files").message();
}

// Waits for flushes and compactions here, on the I/O thread, with a limit; RocksDB's own wait,
// which has no limit and no event, is off.
Status RocksDbStore::WriteOrGiveUp(rocksdb::WriteBatch* batch) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  options.no_slowdown = true;
  using SteadyClock = std::chrono::steady_clock;
  const std::chrono::milliseconds limit(environment_->options().stall_limit_ms);
  const SteadyClock::time_point start = SteadyClock::now();
  for (bool stalled = false;; stalled = true) {
    RETURN_IF_ERROR(MakeRoom());
    // Read before the write, so that no change is missed.
    const uint64_t changes = events_->changes();
    const rocksdb::Status written = rows_->db().Write(options, batch);
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
    const bool refused = written.IsIncomplete();
    if (refused && !stalled) ++stalls_;
    if (refused && waited < limit) {
      events_->WaitForChange(changes, std::min(limit - waited, kStallPoll));
      continue;
    }
    if (refused || stalled) stall_ms_ += waited.count();
    if (!refused) return Written(written, "put");
    return MakeStatus(StatusCode::kResourceExhausted,
                      "row directory {}: put: writes have stalled for {} ms, because flush and "
                      "compaction are slower than the rows that arrive: {}",
                      path_, waited.count(), written.ToString());
  }
}

Status RocksDbStore::Written(const rocksdb::Status& status, std::string_view what) {
  if (status.IsNoSpace()) events_->SetDiskFull();
  return Translate(status, path_, what);
}

// After a full disk RocksDB refuses writes until Resume. That is called here, once there is room
// for what waits in memory: a vain try would fill the disk each time.
Status RocksDbStore::MakeRoom() {
  if (!events_->is_disk_full()) return OkStatus();
  const uint64_t waiting = rows_->Property(Properties::kCurSizeAllMemTables);
  std::error_code unknown;  // Then only trying tells.
  const std::filesystem::space_info space = std::filesystem::space(path_, unknown);
  constexpr uint64_t kMinRoom = uint64_t{1} << 20;  // for what RocksDB writes beside rows
  const bool has_room = unknown || space.available >= waiting + kMinRoom;
  // An unfinished file may take the room; trying deletes it.
  const auto now = std::chrono::steady_clock::now();
  if (!next_try_) next_try_ = now + kTryAnyway;
  if (!has_room && now < *next_try_) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "row directory {}: the disk is full: {} kB are free, and {} kB of rows wait "
                      "in memory to be written",
                      path_, space.available >> 10, waiting >> 10);
  }
  next_try_ = now + kTryAnyway;
  events_->SetDiskHasRoom();  // What Resume starts may find the disk full again.
  const rocksdb::Status resumed = rows_->db().Resume();
  if (resumed.ok()) {
    next_try_.reset();
    LOG(INFO) << "row directory " << path_ << " has room again, writes go on";
    return OkStatus();
  }
  events_->SetDiskFull();
  if (!resumed.ok() && !resumed.IsBusy()) {
    return Translate(resumed, path_, "going on after a full disk");
  }
  return MakeStatus(StatusCode::kResourceExhausted,
                    "row directory {}: the disk was full, and RocksDB is not ready yet: {}", path_,
                    resumed.ToString());
}

Status RocksDbStore::Sync() {
  if (read_only_ || is_settled_) return OkStatus();
  RETURN_IF_ERROR(MakeRoom());
  rocksdb::FlushOptions options;
  options.wait = true;
  // A flush makes room, so it does not wait for room first.
  options.allow_write_stall = true;
  // Once a flush has failed for want of space, RocksDB 7.8 answers every later one with OK before
  // it is done. So check that it is: nobody else writes meanwhile.
  const auto give_up = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(environment_->options().stall_limit_ms);
  for (;;) {
    const uint64_t changes = events_->changes();
    RETURN_IF_ERROR(Written(rows_->db().Flush(options, rows_->rows()), "sync"));
    const uint64_t left = rows_->RowsInMemory();
    if (left == 0) return OkStatus();
    RETURN_IF_ERROR(MakeRoom());
    if (std::chrono::steady_clock::now() >= give_up) {
      return MakeStatus(StatusCode::kResourceExhausted,
                        "row directory {}: sync: {} rows are still in memory after {} ms", path_,
                        left, environment_->options().stall_limit_ms);
    }
    events_->WaitForChange(changes, kStallPoll);
  }
}

Status RocksDbStore::Settle() {
  if (read_only_ || is_settled_) return OkStatus();
  RETURN_IF_ERROR(Sync());
  // Waits for compactions that are under way.
  RETURN_IF_ERROR(Translate(rows_->db().PauseBackgroundWork(), path_, "pause"));
  is_settled_ = is_paused_ = true;
  return OkStatus();
}

void RocksDbStore::Unsettle() {
  if (!is_settled_) return;
  const rocksdb::Status status = is_paused_ ? rows_->db().ContinueBackgroundWork()
                                            : rows_->db().EnableAutoCompaction({rows_->rows()});
  LOG_IF(WARNING, !status.ok()) << Translate(status, path_, "go on with compactions").message();
  is_settled_ = is_paused_ = false;
}

// A checkpoint that finds no room does not mark the disk as full: rows may find room all the same.
Result<std::string> RocksDbStore::Checkpoint(const std::string& directory) {
  RETURN_IF_ERROR(Sync());
  rocksdb::Checkpoint* made = nullptr;
  RETURN_IF_ERROR(Translate(rocksdb::Checkpoint::Create(&rows_->db(), &made), path_, "checkpoint"));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  const std::string before = stamp();
  RETURN_IF_ERROR(Translate(checkpoint->CreateCheckpoint(directory, /*log_size_for_flush=*/0),
                            path_, "checkpoint"));
  // Its list of files is what lies on the disk of the store's, and RocksDB passes over zeros there.
  // Compactions go on: it may be of before or after one, and if several have ended, of neither.
  std::string copied;
  {
    ASSIGN_OR_RETURN(const auto copy,
                     Open({.path = directory, .read_only = true, .environment = environment_}));
    copied = copy->stamp();
  }
  if (copied == before || copied == stamp()) return copied;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (is_settled_) {
    return CorruptionError(
        "row directory {}: checkpoint: it has other files than these rows: what was written to "
        "the list of files, MANIFEST, did not reach the disk",
        path_);
  }
  RETURN_IF_ERROR(Settle());
  return Checkpoint(directory);
}

uint64_t RocksDbStore::bytes_in_memory() const {
  if (rows_->RowsInMemory() == 0) return 0;
  return rows_->Property(Properties::kCurSizeAllMemTables);
}

Status RocksDbStore::Compact() {
  CHECK(!read_only_) << "Compact of a store opened for reading";
  FitFileSizes();
  Unsettle();
  RETURN_IF_ERROR(Sync());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  return Written(rows_->db().CompactRange(options, rows_->rows(), nullptr, nullptr), "compact");
}

Status RocksDbStore::Scan(const Visitor& visit) { return ScanKeys(std::nullopt, visit); }

Status RocksDbStore::ScanRows(TableId table, RowId first, RowId end, const Visitor& visit) {
  if (first >= end) return OkStatus();
  return ScanKeys(KeysOf({.table = table, .first = first, .end = end}), visit);
}

Status RocksDbStore::ScanKeys(const std::optional<KeyRange>& range, const Visitor& visit) {
  RocksDbCursor at(rows_->db(), rows_->rows(), path_, range);
  for (; at.IsValid(); at.Next()) {
    const StoreKey& key = at.key();
    RETURN_IF_ERROR(visit(key.table, key.row, key.first_column, at.record()));
  }
  return at.status();
}

Result<std::unique_ptr<RowCursor>> RocksDbStore::Cursor(const RowRange& range) const {
  return std::unique_ptr<RowCursor>(
      std::make_unique<RocksDbCursor>(rows_->db(), rows_->rows(), path_, KeysOf(range)));
}

uint64_t RocksDbStore::BytesOf(const RowRange& range) const {
  return BytesOfRange(rows_->db(), rows_->rows(), range);
}

Result<std::unique_ptr<RowFileWriter>> RocksDbStore::NewRowFile(const std::string& path) const {
  return MakeRowFileWriter(rows_->db().GetOptions(rows_->rows()), path);
}

Status RocksDbStore::Ingest(std::span<const RowFile> files) {
  CHECK(!read_only_) << "Ingest into a store opened for reading";
  if (is_paused_) Unsettle();
  return IngestRowFiles(rows_->db(), rows_->rows(), path_, files);
}

REGISTER_MEMBER(RowStores().Add("rocksdb", &RocksDbStore::Open));

}  // namespace
}  // namespace rowhouse
