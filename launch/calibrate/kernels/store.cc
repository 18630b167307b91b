// multiget, put (rows, record_bytes): reads of stored rows by RocksDB from the page cache, and
// writes of changed ones, by the store of a shard; ns of all rows. Rows ascend, as a shard asks for
// them.
#include <algorithm>

#include "common/scatter.h"
#include "launch/bench/stopwatch.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/model/temporary_rows.h"
#include "ps/store/row_store.h"

namespace rowhouse {
namespace {

class Store final : public MeasuredKernel {
 public:
  Status Prepare(std::span<const double> sizes) override {
    const auto record_bytes = static_cast<uint32_t>(SizeOf(sizes[1]));
    if (record_bytes != slice_.record_bytes) RETURN_IF_ERROR(Fill(record_bytes));
    rows_.resize(SizeOf(sizes[0]));
    records_.resize(rows_.size() * record_bytes);
    return Measure().status();
  }
  Result<std::vector<double>> Measure() override {
    const Scatter scatter(kStored, turn_++);
    for (uint64_t i = 0; i < rows_.size(); ++i) rows_[i] = RowId{scatter(i)};
    std::ranges::sort(rows_);
    std::vector<size_t> missing;
    Stopwatch stopwatch;
    RETURN_IF_ERROR(store_->Get(slice_, rows_, records_, &missing));
    const double get = stopwatch.Ns();
    if (!missing.empty()) return IoError("{} of {} rows are not stored", missing.size(), kStored);
    stopwatch.Restart();
    RETURN_IF_ERROR(store_->Put(slice_, rows_, records_));
    return std::vector{get, stopwatch.Ns()};
  }

 private:
  static constexpr uint64_t kStored = 200'000;
  static constexpr size_t kAtOnce = 20'000;

  // All rows, so that reads find files of the size that a run has.
  Status Fill(uint32_t record_bytes) {
    store_.reset();
    directory_.reset();
    ASSIGN_OR_RETURN(directory_, MakeTemporaryRows());
    ASSIGN_OR_RETURN(store_, RowStores().Make("rocksdb", {.path = directory_->path() + "/rows"}));
    slice_ = {.table = TableId{0}, .first_column = 0, .record_bytes = record_bytes};
    std::vector<RowId> rows(kAtOnce);
    std::vector<std::byte> records(kAtOnce * record_bytes);
    for (size_t i = 0; i < records.size(); ++i) records[i] = static_cast<std::byte>(i * 131 >> 3);
    for (uint64_t first = 0; first < kStored; first += kAtOnce) {
      for (uint64_t i = 0; i < kAtOnce; ++i) rows[i] = RowId{first + i};
      RETURN_IF_ERROR(store_->Put(slice_, rows, records));
    }
    return store_->Sync();
  }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<RowStore> store_;
  StoreSlice slice_;
  std::vector<RowId> rows_;
  std::vector<std::byte> records_;
  uint64_t turn_ = 0;
};

REGISTER_MEMBER(AddMeasuredKernels([]() -> std::vector<KernelDeclaration> {
  return {
      {.name = "store",
       .figures = {"multiget", "put"},
       .grid = {{"rows", {1, 64, 1024, 8192}}, {"record_bytes", {48, 144, 528}}},
       .make = Makes<Store>()},
  };
}));

}  // namespace
}  // namespace rowhouse
