// tier_first_touch: rows that no step has touched, pulled for the first time: the shard computes
// their first values and gives them a place in the cache, without a look into the store. Beside it,
// writing the same bytes to memory.
#include <chrono>
#include <cstring>

#include "launch/bench/tier_bench.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRows = uint64_t{1} << 40;  // far more than will be asked for
constexpr size_t kBatches = 10;                // of a sample
// Rows of a step stay in the cache until the next one: all that are asked for have a place.
constexpr uint64_t kCacheRows = kBatches * (kMeasuredPairs + 2) * TierRows::kBatchIds;

class FirstTouchBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& kept, bool is_direct) {
    auto bench = std::make_unique<FirstTouchBench>();
    StoreEnvironmentOptions environment;
    environment.direct_reads = is_direct;
    if (is_direct) {
      ASSIGN_OR_RETURN(bench->limit_,
                       MemoryLimit::Set(2 * kCacheRows * TierRows::kRecordBytes +
                                        environment.memtable_bytes + (uint64_t{256} << 20)));
    }
    ASSIGN_OR_RETURN(bench->rows_, TierRows::Of(kept));
    bench->directory_ = bench->rows_->MakeEmpty();
    ASSIGN_OR_RETURN(
        std::unique_ptr<RowStore> store,
        RowStores().Make("rocksdb",
                         {.path = bench->directory_->path(),
                          .environment = std::make_shared<StoreEnvironment>(environment)}));
    ASSIGN_OR_RETURN(bench->shard_,
                     OneShard::Start({.table_rows = kRows,
                                      .dim = TierRows::kDim,
                                      .request_rows = TierRows::kBatchIds,
                                      .cache_rows = kCacheRows * 3 / 2,  // sets fill up unevenly
                                      .store = std::move(store)}));
    bench->batches_.push_back({.table = TierRows::kSlice.table,
                               .dim = TierRows::kDim,
                               .counts = std::vector<uint32_t>(TierRows::kBatchIds, 1),
                               .values = std::vector<float>(TierRows::kBatchIds * TierRows::kDim)});
    bench->memory_.resize(TierRows::kCacheBytes);
    return std::unique_ptr<Bench>(std::move(bench));
  }
  ~FirstTouchBench() override { shard_.reset(); }  // Before its directory.

  std::string unit() const override { return "rows/s"; }
  std::string yardstick() const override { return "writing their bytes to memory"; }
  std::optional<double> target() const override { return 0.25; }

  Result<double> MeasureSystem() override {
    return RowsPerSecond([&]() -> Status {
      std::vector<RowId>& rows = batches_[0].rows;
      rows.clear();
      for (size_t i = 0; i < TierRows::kBatchIds; ++i, next_ += 7) rows.push_back(RowId{next_});
      return shard_->Pull(&batches_);
    });
  }

  Result<double> MeasureYardstick() override {
    return RowsPerSecond([&]() -> Status {
      constexpr size_t kBytes = TierRows::kBatchIds * TierRows::kRecordBytes;
      if (at_ + kBytes > memory_.size()) at_ = 0;
      std::memset(memory_.data() + at_, static_cast<int>(at_ >> 20), kBytes);
      at_ += kBytes;
      return OkStatus();
    });
  }

 private:
  template <typename Work>
  static Result<double> RowsPerSecond(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kBatches; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      RETURN_IF_ERROR(work());
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(kBatches * TierRows::kBatchIds) / seconds.count();
  }

  StopSignal stop_signal_;
  std::shared_ptr<TierRows> rows_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<TierRows::Copy> directory_;
  std::unique_ptr<OneShard> shard_;
  std::vector<RowBatch> batches_;
  uint64_t next_ = 0;
  std::vector<std::byte> memory_;
  size_t at_ = 0;
};

const bool kRegistered = Benches().Add("tier_first_touch", [](const BenchOptions& kept) {
  return FirstTouchBench::Make(kept, false);
}) && Benches().Add("tier_first_touch_direct", [](const BenchOptions& kept) {
  return FirstTouchBench::Make(kept, true);
});

}  // namespace
}  // namespace rowhouse
