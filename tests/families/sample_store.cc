// "mirrored": rows in memory, each in as many copies as the option mirror_copies says; a Get that
// finds two that differ is kCorruption.
#include <map>

#include "ps/store/row_store.h"
#include "ps/store/store_key.h"

namespace rowhouse {
namespace {

const DeclaredOption kCopies =
    DeclaredOption::Whole("mirror_copies", 2, 1, 4, "copies of each row");

class Mirrored final : public RowStore {
 public:
  explicit Mirrored(const RowStoreOptions& options) : copies_(kCopies.WholeIn(options.own)) {}

  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto found = records_.find({slice.table, rows[i], slice.first_column});
      if (found == records_.end()) {
        missing->push_back(i);
        continue;
      }
      for (const std::vector<std::byte>& copy : found->second) {
        if (copy != found->second.front()) return CorruptionError("copies of a row differ");
      }
      std::ranges::copy(found->second.front(),
                        out.begin() + static_cast<std::ptrdiff_t>(i * slice.record_bytes));
    }
    rows_read_ += rows.size();
    return OkStatus();
  }

  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto record = records.subspan(i * slice.record_bytes, slice.record_bytes);
      records_[{slice.table, rows[i], slice.first_column}].assign(
          copies_, std::vector<std::byte>(record.begin(), record.end()));
    }
    rows_written_ += rows.size() * copies_;
    return OkStatus();
  }

  Status Sync() override { return OkStatus(); }
  Status Scan(const Visitor& visit) override {
    for (const auto& [key, copies] : records_) {
      RETURN_IF_ERROR(visit(key.table, key.row, key.first_column, copies.front()));
    }
    return OkStatus();
  }
  RowStoreCounters counters() const override {
    return {.rows_read = rows_read_, .rows_written = rows_written_};
  }

 private:
  const uint64_t copies_;
  std::map<StoreKey, std::vector<std::vector<std::byte>>> records_;
  uint64_t rows_read_ = 0, rows_written_ = 0;
};

REGISTER_MEMBER(RowStores().Add<Mirrored>("mirrored", StoreDeclaration{}, {kCopies}));

}  // namespace
}  // namespace rowhouse
