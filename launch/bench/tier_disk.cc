// tier_disk, tier_disk_peak: bytes of rows on disk, compacted, and the largest while rows are
// written and rewritten in batches in scattered order. The "rate" is the bytes of records, the
// yardstick the bytes of files, so that the target of 1.3 is a ratio of 1 / 1.3.
#include <algorithm>

#include "common/scatter.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/tier_rows.h"

namespace rowhouse {
namespace {

constexpr double kRowBytes = static_cast<double>(TierRows::kRows * TierRows::kRecordBytes);
constexpr uint64_t kRewrites = 60;  // batches

class DiskBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& kept, bool is_peak) {
    auto bench = std::make_unique<DiskBench>();
    bench->is_peak_ = is_peak;
    ASSIGN_OR_RETURN(const auto rows, TierRows::Of(kept));
    ASSIGN_OR_RETURN(const auto copy, rows->MakeCopy());
    ASSIGN_OR_RETURN(const auto store, RowStores().Make("rocksdb", {.path = copy->path()}));
    double peak = rows->peak_while_filled();
    const Scatter scatter(TierRows::kRows, /*key=*/29);
    std::vector<RowId> batch(TierRows::kBatchIds);
    std::vector<std::byte> records(TierRows::kBatchIds * TierRows::kRecordBytes);
    for (uint64_t i = 0; i < kRewrites; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      for (size_t k = 0; k < batch.size(); ++k) {
        batch[k] = RowId{scatter(i * TierRows::kBatchIds + k)};
      }
      std::sort(batch.begin(), batch.end());
      std::vector<size_t> missing;
      RETURN_IF_ERROR(store->Get(TierRows::kSlice, batch, records, &missing));
      RETURN_IF_ERROR(store->Put(TierRows::kSlice, batch, records));
      peak = std::max(peak, static_cast<double>(BytesOfFiles(copy->path())) / kRowBytes);
    }
    if (is_peak) {
      bench->disk_bytes_ = peak * kRowBytes;
    } else {
      RETURN_IF_ERROR(store->Compact());
      bench->disk_bytes_ = static_cast<double>(BytesOfFiles(copy->path()));
    }
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "B"; }
  std::string yardstick() const override {
    return is_peak_ ? "bytes of files, at most, while rows are written"
                    : "bytes of files, compacted";
  }
  std::optional<double> target() const override { return 1.0 / (is_peak_ ? 1.6 : 1.3); }
  Result<double> MeasureSystem() override { return kRowBytes; }
  Result<double> MeasureYardstick() override { return disk_bytes_; }

 private:
  StopSignal stop_signal_;
  bool is_peak_ = false;
  double disk_bytes_ = 0.0;
};

REGISTER_MEMBER(AddBench("tier_disk", {"bytes of files for those of rows, compacted", "minutes"},
                         [](const BenchOptions& kept) { return DiskBench::Make(kept, false); }) &&
                AddBench("tier_disk_peak", {"the same at the worst moment", "minutes"},
                         [](const BenchOptions& kept) { return DiskBench::Make(kept, true); }));

}  // namespace
}  // namespace rowhouse
