#include "ps/store/rows_with_deltas.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <thread>

#include "common/kill_point.h"
#include "common/mapped_file.h"
#include "ps/store/store_key.h"
#include "ps/store/written_rows_file.h"
#include "sharding/rows/record.h"

namespace rowhouse {
namespace {

// The LSN of a record, whatever its layout: the trailer is at the end.
uint64_t LsnOf(std::span<const std::byte> record) {
  RecordTrailer trailer;
  std::memcpy(&trailer, record.data() + record.size() - sizeof trailer, sizeof trailer);
  return trailer.lsn;
}

struct DeltaRow {
  StoreKey key;
  uint32_t record_bytes = 0;
  const std::byte* data = nullptr;  // in a mapped file

  std::span<const std::byte> record() const { return {data, record_bytes}; }
};

// The newest record of each row of some delta files, by key.
class DeltaRows {
 public:
  Status Add(const std::string& path, const SavedDelta& delta, OpeningProgress& progress) {
    RETURN_IF_ERROR(CheckFile(path, delta.file.bytes, delta.file.xxh3_128,
                              [&](uint64_t bytes) { return progress.Advance(bytes); }));
    ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
    RETURN_IF_ERROR(
        ReadDelta(file->bytes(), path,
                  [&](const StoreSlice& slice, std::span<const std::byte> ids,
                      std::span<const std::byte> records) -> Status {
                    if (slice.record_bytes < sizeof(RecordTrailer)) {
                      return CorruptionError("{}: a record of {} bytes", path, slice.record_bytes);
                    }
                    for (size_t i = 0; i * sizeof(RowId) < ids.size(); ++i) {
                      RowId row;
                      std::memcpy(&row, ids.data() + i * sizeof row, sizeof row);
                      rows_.push_back({.key = {slice.table, row, slice.first_column},
                                       .record_bytes = slice.record_bytes,
                                       .data = records.data() + i * slice.record_bytes});
                    }
                    return progress.Advance(0);
                  }));
    files_.push_back(std::move(file));
    return OkStatus();
  }

  static Result<DeltaRows> Open(const std::string& directory, std::span<const SavedDelta> deltas,
                                OpeningProgress& progress) {
    DeltaRows rows;
    for (const SavedDelta& delta : deltas) progress.Expect(delta.file.bytes);
    for (const SavedDelta& delta : deltas) {
      RETURN_IF_ERROR(rows.Add(DeltaPath(directory, delta.steps), delta, progress));
    }
    progress.Expect(rows.rows_.size() * sizeof(DeltaRow));
    RETURN_IF_ERROR(Sort(rows.rows_, progress));
    const auto same = std::ranges::unique(rows.rows_, {}, &DeltaRow::key);
    rows.rows_.erase(same.begin(), same.end());
    return rows;
  }

  std::span<const DeltaRow> From(const StoreKey& key) const {
    const auto first = std::ranges::lower_bound(rows_, key, {}, &DeltaRow::key);
    return {first, rows_.end()};
  }
  std::span<const DeltaRow> Of(const RowRange& range) const {
    const std::span<const DeltaRow> from = From({range.table, range.first, 0});
    const auto behind =
        std::ranges::lower_bound(from, StoreKey{range.table, range.end, 0}, {}, &DeltaRow::key);
    return {from.begin(), std::max(from.begin(), behind)};
  }
  std::span<const DeltaRow> all() const { return rows_; }
  uint64_t record_bytes() const {
    return std::accumulate(
        rows_.begin(), rows_.end(), uint64_t{0},
        [](uint64_t sum, const DeltaRow& row) { return sum + row.record_bytes; });
  }
  const DeltaRow* Find(const StoreKey& key) const {
    const std::span<const DeltaRow> from = From(key);
    return from.empty() || from.front().key != key ? nullptr : &from.front();
  }
  // Whether all files are as long as they were: what lies behind their end reads as zeros.
  Status CheckWhole() const {
    for (const auto& file : files_) RETURN_IF_ERROR(file->CheckWhole());
    return OkStatus();
  }

 private:
  // By key, the newest record of a row first. In halves down to pieces of a few ms, each of which
  // advances.
  static Status Sort(std::span<DeltaRow> rows, OpeningProgress& progress) {
    constexpr size_t kPieceRows = size_t{1} << 16;
    const auto is_before = [](const DeltaRow& a, const DeltaRow& b) {
      return a.key != b.key ? a.key < b.key : LsnOf(a.record()) > LsnOf(b.record());
    };
    if (rows.size() <= kPieceRows) {
      std::ranges::sort(rows, is_before);
      return progress.Advance(rows.size_bytes());
    }
    const size_t half = rows.size() / 2;
    std::ranges::nth_element(rows, rows.begin() + static_cast<std::ptrdiff_t>(half), is_before);
    RETURN_IF_ERROR(Sort(rows.first(half), progress));
    return Sort(rows.subspan(half), progress);
  }

  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<DeltaRow> rows_;
};

// The records of a store and those of delta files, merged.
class CursorWithDeltas final : public RowCursor {
 public:
  CursorWithDeltas(std::unique_ptr<RowCursor> stored, TableId table, std::span<const DeltaRow> rows,
                   const DeltaRows& deltas, std::string directory)
      : stored_(std::move(stored)),
        table_(table),
        rows_(rows),
        deltas_(deltas),
        directory_(std::move(directory)) {
    Find();
  }

  bool IsValid() const override { return status_.ok() && (is_delta_ || stored_->IsValid()); }
  void Next() override {
    if (!is_delta_ || is_stored_too_) stored_->Next();
    if (is_delta_) rows_ = rows_.subspan(1);
    Find();
  }
  RowId row() const override { return is_delta_ ? rows_.front().key.row : stored_->row(); }
  uint16_t first_column() const override {
    return is_delta_ ? rows_.front().key.first_column : stored_->first_column();
  }
  std::span<const std::byte> record() const override {
    return is_delta_ ? std::span<const std::byte>(aligned_) : stored_->record();
  }
  Status status() const override { return status_; }

 private:
  // Chooses the next record.
  void Find() {
    is_delta_ = is_stored_too_ = false;
    status_ = stored_->status();
    if (!status_.ok()) return;
    if (rows_.empty()) {
      if (!stored_->IsValid()) status_ = deltas_.CheckWhole();
      return;
    }
    const DeltaRow& delta = rows_.front();
    if (stored_->IsValid()) {
      const StoreKey key{table_, stored_->row(), stored_->first_column()};
      if (key < delta.key) return;
      if (key == delta.key) {
        const std::span<const std::byte> stored = stored_->record();
        if (stored.size() != delta.record_bytes) {
          status_ = WrongRecordSize({key.table, key.first_column, delta.record_bytes}, key.row,
                                    stored.size(), directory_);
          return;
        }
        if (LsnOf(delta.record()) <= LsnOf(stored)) {
          rows_ = rows_.subspan(1);
          return;
        }
        is_stored_too_ = true;
      }
    }
    is_delta_ = true;
    aligned_.assign(delta.data, delta.data + delta.record_bytes);
  }

  const std::unique_ptr<RowCursor> stored_;
  const TableId table_;
  std::span<const DeltaRow> rows_;  // not visited yet
  const DeltaRows& deltas_;
  const std::string directory_;
  bool is_delta_ = false, is_stored_too_ = false;
  std::vector<std::byte> aligned_;
  Status status_;
};

class RowsWithDeltas final : public RowStore {
 public:
  RowsWithDeltas(std::unique_ptr<RowStore> store, DeltaRows deltas, std::string directory,
                 std::vector<SavedDelta> files)
      : store_(std::move(store)),
        deltas_(std::move(deltas)),
        directory_(std::move(directory)),
        files_(std::move(files)) {}

  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    const size_t before = missing->size();
    RETURN_IF_ERROR(store_->Get(slice, rows, out, missing));
    std::vector<size_t> absent(missing->begin() + before, missing->end());
    missing->resize(before);
    auto next_absent = absent.begin();
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool is_absent = next_absent != absent.end() && *next_absent == i;
      if (is_absent) ++next_absent;
      const auto record = out.subspan(i * slice.record_bytes, slice.record_bytes);
      const DeltaRow* const delta = deltas_.Find({slice.table, rows[i], slice.first_column});
      if (delta == nullptr) {
        if (is_absent) missing->push_back(i);
        continue;
      }
      if (delta->record_bytes != slice.record_bytes) {
        return WrongRecordSize(slice, rows[i], delta->record_bytes, directory_);
      }
      if (is_absent || LsnOf(delta->record()) > LsnOf(record)) {
        std::ranges::copy(delta->record(), record.begin());
      }
    }
    return deltas_.CheckWhole();
  }

  Status Put(const StoreSlice&, std::span<const RowId>, std::span<const std::byte>) override {
    return MakeStatus(StatusCode::kInternal, "{}: rows with delta files are only read", directory_);
  }
  Status Sync() override { return OkStatus(); }

  Status Scan(const Visitor& visit) override {
    return Merge(deltas_.all(), visit, [this](const Visitor& each) { return store_->Scan(each); });
  }
  Status ScanRows(TableId table, RowId first, RowId end, const Visitor& visit) override {
    return Merge(deltas_.Of({table, first, end}), visit,
                 [&](const Visitor& each) { return store_->ScanRows(table, first, end, each); });
  }

  Result<std::unique_ptr<RowCursor>> Cursor(const RowRange& range) const override {
    ASSIGN_OR_RETURN(auto stored, store_->Cursor(range));
    return std::unique_ptr<RowCursor>(std::make_unique<CursorWithDeltas>(
        std::move(stored), range.table, deltas_.Of(range), deltas_, directory_));
  }
  uint64_t BytesOf(const RowRange& range) const override {
    uint64_t bytes = store_->BytesOf(range);
    for (const DeltaRow& row : deltas_.Of(range)) bytes += StoreKey::kBytes + row.record_bytes;
    return bytes;
  }

  RowStoreCounters counters() const override { return store_->counters(); }
  std::string stamp() const override { return store_->stamp(); }
  Status Verify(const NameOfTable& name_of) override {
    RETURN_IF_ERROR(CheckDeltas(directory_, files_));
    return store_->Verify(name_of);
  }
  std::vector<RowStoreLevel> levels() const override { return store_->levels(); }
  Result<std::string> compression() const override { return store_->compression(); }

 private:
  // Visits the records of `scan` and those of `rows`, by key.
  Status Merge(std::span<const DeltaRow> rows, const Visitor& visit,
               const std::function<Status(const Visitor&)>& scan) const {
    auto at = rows.begin();
    std::vector<std::byte> aligned;
    const auto visit_delta = [&] {
      aligned.assign(at->data, at->data + at->record_bytes);
      const StoreKey key = at++->key;
      return visit(key.table, key.row, key.first_column, aligned);
    };
    RETURN_IF_ERROR(scan([&](TableId table, RowId row, uint16_t first_column,
                             std::span<const std::byte> record) -> Status {
      const StoreKey key{table, row, first_column};
      while (at != rows.end() && at->key < key) RETURN_IF_ERROR(visit_delta());
      if (at != rows.end() && at->key == key) {
        if (record.size() != at->record_bytes) {
          return WrongRecordSize({table, first_column, at->record_bytes}, row, record.size(),
                                 directory_);
        }
        if (LsnOf(at->record()) > LsnOf(record)) return visit_delta();
        ++at;
      }
      return visit(table, row, first_column, record);
    }));
    while (at != rows.end()) RETURN_IF_ERROR(visit_delta());
    return deltas_.CheckWhole();
  }

  const std::unique_ptr<RowStore> store_;
  const DeltaRows deltas_;
  const std::string directory_;
  const std::vector<SavedDelta> files_;
};

// A store that cannot keep up is given time, until the opening is stopped. A full disk ends it, as
// where files are copied.
Status PutOnceItKeepsUp(RowStore& store, const StoreWrite& write, OpeningProgress& progress) {
  constexpr auto kTryAgainAfter = std::chrono::milliseconds(20);
  for (bool is_told = false;; is_told = true) {
    const Status put = store.Put(write.slice, write.rows, write.records);
    if (put.code() != StatusCode::kResourceExhausted || store.counters().disk_full > 0) return put;
    LOG_IF(WARNING, !is_told) << put.message() << "; it is tried again until the node is stopped";
    RETURN_IF_ERROR(progress.Advance(0));
    std::this_thread::sleep_for(kTryAgainAfter);
  }
}

}  // namespace

Status CheckDeltas(const std::string& directory, std::span<const SavedDelta> deltas,
                   const std::function<Status(uint64_t)>& advance) {
  for (const SavedDelta& delta : deltas) {
    RETURN_IF_ERROR(CheckFile(DeltaPath(directory, delta.steps), delta.file.bytes,
                              delta.file.xxh3_128, advance));
  }
  return OkStatus();
}

Result<std::unique_ptr<RowStore>> OpenRowsOf(const std::string& directory,
                                             const DirectoryState& state, const std::string& store,
                                             RowStoreOptions options, OpeningProgress* progress) {
  if (!state.deltas.empty() && !options.read_only) {
    return MakeStatus(StatusCode::kInternal, "{}: rows with delta files are only read", directory);
  }
  options.path = directory + "/rows";
  options.expected_stamp = state.stamp;
  ASSIGN_OR_RETURN(std::unique_ptr<RowStore> rows, RowStores().Make(store, options));
  if (state.deltas.empty()) return rows;
  OpeningProgress unseen;
  ASSIGN_OR_RETURN(DeltaRows deltas, DeltaRows::Open(directory, state.deltas,
                                                     progress == nullptr ? unseen : *progress));
  return std::unique_ptr<RowStore>(std::make_unique<RowsWithDeltas>(
      std::move(rows), std::move(deltas), directory, state.deltas));
}

Status PutDeltas(const std::string& directory, std::span<const SavedDelta> deltas, RowStore& store,
                 OpeningProgress& progress) {
  constexpr size_t kRowsAtOnce = 4096;
  ASSIGN_OR_RETURN(const DeltaRows newest, DeltaRows::Open(directory, deltas, progress));
  progress.Expect(newest.record_bytes());
  for (std::span<const DeltaRow> left = newest.all(); !left.empty();) {
    const DeltaRow& first = left.front();
    const StoreSlice slice{.table = first.key.table,
                           .first_column = first.key.first_column,
                           .record_bytes = first.record_bytes};
    size_t count = 0;
    std::vector<RowId> rows;
    for (; count < std::min(left.size(), kRowsAtOnce); ++count) {
      const DeltaRow& row = left[count];
      if (row.key.table != slice.table || row.key.first_column != slice.first_column ||
          row.record_bytes != slice.record_bytes) {
        break;
      }
      rows.push_back(row.key.row);
    }
    std::vector<std::byte> stored(count * slice.record_bytes);
    std::vector<size_t> missing;
    RETURN_IF_ERROR(store.Get(slice, rows, stored, &missing));
    StoreWrite newer{.slice = slice, .rows = {}, .records = {}};
    auto absent = missing.begin();
    for (size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> record = left[i].record();
      const bool is_absent = absent != missing.end() && *absent == i;
      if (is_absent) ++absent;
      const auto there =
          std::span<const std::byte>(stored).subspan(i * slice.record_bytes, slice.record_bytes);
      if (!is_absent && LsnOf(there) >= LsnOf(record)) continue;
      newer.rows.push_back(rows[i]);
      newer.records.insert(newer.records.end(), record.begin(), record.end());
    }
    if (!newer.rows.empty()) RETURN_IF_ERROR(PutOnceItKeepsUp(store, newer, progress));
    left = left.subspan(count);
    RETURN_IF_ERROR(progress.Advance(count * slice.record_bytes));
  }
  RETURN_IF_ERROR(newest.CheckWhole());
  return store.Settle();
}

Status PutDeltasIntoCopy(const std::string& part, const std::string& directory,
                         const std::string& checksum, const std::string& store,
                         const RowStoreOptions& options, OpeningProgress& progress) {
  ASSIGN_OR_RETURN(DirectoryState state, ReadState(directory));
  if (state.deltas.empty()) return OkStatus();
  const std::string saved_stamp = state.stamp;
  {
    DirectoryState without = state;
    without.deltas.clear();
    ASSIGN_OR_RETURN(const auto rows, OpenRowsOf(directory, without, store, options));
    RETURN_IF_ERROR(PutDeltas(part, state.deltas, *rows, progress));
    KillPoint("restored.deltas_put");
    state.stamp = rows->stamp();
  }
  // The set has the rows of delta files already; only the store has another stamp now.
  const Status restamped =
      RestampWrittenRows(directory + kWrittenRowsFile, saved_stamp, state.stamp);
  LOG_IF(WARNING, !restamped.ok())
      << "all rows of " << directory << " have to be scanned: " << restamped.message();
  state.deltas.clear();
  state.routed_from = checksum;
  RETURN_IF_ERROR(WriteState(directory, state));
  KillPoint("restored.state_written");
  std::error_code ignored;  // Nobody reads them; the first save of the run deletes them.
  std::filesystem::remove_all(DeltaDirectory(directory), ignored);
  return OkStatus();
}

}  // namespace rowhouse
