// tier_prefetch: pulls a second of rows prefetched 4 batches ahead, Zipf 1.05, a cache of a tenth
// of the table, and batches half as fast as the tier can train them. The yardstick is the same
// pulls of a table that is all in memory and trained alike. 1.5 times the time is a ratio of 0.67.
// A batch is prefetched as by workers: when a pull is answered, before its push.
#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "common/median.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/tier_rows.h"

namespace rowhouse {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr size_t kAhead = 4;
constexpr size_t kPrefetchPulls = 9;  // of a sample, which is their median
constexpr size_t kPrefetchWarmBatches = 24;

class PrefetchBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions& kept, bool is_direct) {
    auto bench = std::make_unique<PrefetchBench>();
    RETURN_IF_ERROR(bench->Open(kept, is_direct));
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "pulls/s"; }
  std::string yardstick() const override {
    return fmt::format(
        "all in memory; {:.0f} % of the pulls waited for a disk",
        pulls_ == 0 ? 0.0 : 100.0 * static_cast<double>(waited_) / static_cast<double>(pulls_));
  }
  std::optional<double> target() const override { return 1.0 / 1.5; }

  Result<double> MeasureSystem() override {
    ASSIGN_OR_RETURN(const StatsReply before, tier_->shard().Stats());
    const Result<double> rate = PullsPerSecond(tier_->shard(), &tier_batches_);
    ASSIGN_OR_RETURN(const StatsReply after, tier_->shard().Stats());
    pulls_ += kPrefetchPulls;
    waited_ += after.pulls_from_store - before.pulls_from_store;
    return rate;
  }

  Result<double> MeasureYardstick() override { return PullsPerSecond(*memory_, &memory_batches_); }

 private:
  struct Batches {
    IdStream ids{1.05};
    size_t prefetched_ahead = 0;
    std::deque<std::vector<RowBatch>> coming = {};  // the front is next
  };

  static std::vector<RowBatch> NextBatch(IdStream& ids) {
    std::vector<RowId> rows = ids.Next(TierRows::kBatchIds);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return TierShard::BatchOf(std::move(rows));
  }

  static Status PrepareNext(OneShard& shard, Batches* batches) {
    batches->coming.push_back(NextBatch(batches->ids));
    if (batches->prefetched_ahead == 0) return OkStatus();
    return shard.Prefetch(batches->coming.size() - 1, batches->coming.back());
  }

  Result<double> PullsPerSecond(OneShard& shard, Batches* batches) {
    std::vector<double> seconds;
    while (batches->coming.size() < std::max<size_t>(1, batches->prefetched_ahead)) {
      RETURN_IF_ERROR(PrepareNext(shard, batches));
    }
    for (size_t i = 0; i < kPrefetchPulls; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      const SteadyClock::time_point begin = SteadyClock::now();
      RETURN_IF_ERROR(shard.Pull(&batches->coming.front()));
      seconds.push_back(Seconds(SteadyClock::now() - begin).count());
      RETURN_IF_ERROR(PrepareNext(shard, batches));
      RETURN_IF_ERROR(shard.PullAndPush(&batches->coming.front()));
      batches->coming.pop_front();
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<SteadyClock::duration>(2 * batch_time_));
    }
    return 1.0 / MedianOf(seconds);
  }

  Status Open(const BenchOptions& kept, bool is_direct) {
    if (is_direct) {
      constexpr uint64_t kMemoryBytes = TierRows::kRows * TierRows::kRecordBytes;
      ASSIGN_OR_RETURN(limit_, MemoryLimit::Set(TierRows::kCacheBytes + kMemoryBytes +
                                                StoreEnvironmentOptions().memtable_bytes +
                                                (uint64_t{256} << 20)));
    }
    ASSIGN_OR_RETURN(tier_, TierShard::Open(kept, is_direct));
    ASSIGN_OR_RETURN(std::unique_ptr<RowStore> none, RowStores().Make("memory", {}));
    OneShardOptions all_in_memory = TierShard::Options();
    all_in_memory.cache_rows = 0;
    all_in_memory.store = std::move(none);
    ASSIGN_OR_RETURN(memory_, OneShard::Start(all_in_memory));
    for (uint64_t row = 0; row < TierRows::kRows;) {
      RETURN_IF_ERROR(StopSignal::Check());
      std::vector<RowId> rows;
      for (; row < TierRows::kRows && rows.size() < TierRows::kBatchIds; ++row) {
        rows.push_back(RowId{row});
      }
      std::vector<RowBatch> batches = TierShard::BatchOf(std::move(rows));
      RETURN_IF_ERROR(memory_->Pull(&batches));
    }
    // The hottest rows, then batches as they will come; the last tell how fast that is.
    RETURN_IF_ERROR(tier_->TrainHottest(tier_batches_.ids));
    SteadyClock::time_point begin;
    for (size_t i = 0; i < kPrefetchWarmBatches; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      if (i == kPrefetchWarmBatches / 2) begin = SteadyClock::now();
      std::vector<RowBatch> batches = NextBatch(tier_batches_.ids);
      RETURN_IF_ERROR(tier_->shard().PullAndPush(&batches));
    }
    batch_time_ = Seconds(SteadyClock::now() - begin) / (kPrefetchWarmBatches / 2.0);
    return OkStatus();
  }

  StopSignal stop_signal_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<TierShard> tier_;
  std::unique_ptr<OneShard> memory_;
  Batches tier_batches_{.prefetched_ahead = kAhead}, memory_batches_;
  Seconds batch_time_{0.0};
  uint64_t pulls_ = 0, waited_ = 0;
};

REGISTER_MEMBER(AddTierBench("tier_prefetch", "pulls of prefetched rows, beside rows in memory",
                             &PrefetchBench::Make));

}  // namespace
}  // namespace rowhouse
