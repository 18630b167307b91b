// Rows in a sorted map, for tests, simulation and models that need not outlive the process. Sync
// does nothing.
#include <algorithm>
#include <atomic>
#include <map>

#include "ps/store/row_store.h"
#include "ps/store/store_key.h"

namespace rowhouse {
namespace {

using MemoryRecords = std::map<StoreKey, std::vector<std::byte>>;

// Of a store that no Put changes meanwhile.
class MemoryCursor final : public RowCursor {
 public:
  MemoryCursor(MemoryRecords::const_iterator begin, MemoryRecords::const_iterator end)
      : at_(begin), end_(end) {}

  bool IsValid() const override { return at_ != end_; }
  void Next() override { ++at_; }
  RowId row() const override { return at_->first.row; }
  uint16_t first_column() const override { return at_->first.first_column; }
  std::span<const std::byte> record() const override { return at_->second; }
  Status status() const override { return OkStatus(); }

 private:
  MemoryRecords::const_iterator at_, end_;
};

class MemoryStore final : public RowStore {
 public:
  explicit MemoryStore(const RowStoreOptions& options) : read_only_(options.read_only) {}

  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    CHECK_EQ(out.size(), rows.size() * slice.record_bytes);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto found = records_.find({slice.table, rows[i], slice.first_column});
      if (found == records_.end()) {
        missing->push_back(i);
        continue;
      }
      const std::vector<std::byte>& record = found->second;
      if (record.size() != slice.record_bytes) {
        return WrongRecordSize(slice, rows[i], record.size(), "memory");
      }
      std::copy(record.begin(), record.end(), out.begin() + i * slice.record_bytes);
    }
    rows_read_ += rows.size();
    return OkStatus();
  }

  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override {
    CHECK(!read_only_) << "Put to a store opened for reading";
    CHECK_EQ(records.size(), rows.size() * slice.record_bytes);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto record = records.subspan(i * slice.record_bytes, slice.record_bytes);
      records_[{slice.table, rows[i], slice.first_column}].assign(record.begin(), record.end());
    }
    rows_written_ += rows.size();
    return OkStatus();
  }

  Status Sync() override { return OkStatus(); }

  Status Scan(const Visitor& visit) override {
    for (const auto& [key, record] : records_) {
      RETURN_IF_ERROR(visit(key.table, key.row, key.first_column, record));
    }
    return OkStatus();
  }

  Result<std::unique_ptr<RowCursor>> Cursor(const RowRange& range) const override {
    std::unique_ptr<RowCursor> cursor =
        std::make_unique<MemoryCursor>(records_.lower_bound({range.table, range.first, 0}),
                                       records_.lower_bound({range.table, range.end, 0}));
    return cursor;
  }

  uint64_t BytesOf(const RowRange& range) const override {
    uint64_t bytes = 0;
    const auto end = records_.lower_bound({range.table, range.end, 0});
    for (auto at = records_.lower_bound({range.table, range.first, 0}); at != end; ++at) {
      bytes += at->second.size();
    }
    return bytes;
  }

  RowStoreCounters counters() const override {
    return {.rows_read = rows_read_, .rows_written = rows_written_};
  }

 private:
  const bool read_only_;
  MemoryRecords records_;
  std::atomic<uint64_t> rows_read_ = 0;
  std::atomic<uint64_t> rows_written_ = 0;
};

REGISTER_MEMBER(RowStores().Add<MemoryStore>("memory", StoreDeclaration{.has_files = false}));

}  // namespace

std::unique_ptr<RowStore> NewMemoryStore() {
  return std::make_unique<MemoryStore>(RowStoreOptions());
}

}  // namespace rowhouse
