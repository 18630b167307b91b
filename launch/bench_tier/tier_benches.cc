// The storage tier: a shard over rocksdb whose cache holds a tenth of the table. All rows exist,
// and both sides have seen the hottest before they are measured.
//   tier_zipf, tier_by_id, tier_uniform
//       ids a second of training (pull, push) by batches of 20,000 ids, beside bare RocksDB with
//       the same memory that reads, changes and writes the same ids. The figure includes the
//       messages, a few percent of the time
//   tier_prefetch
//       pulls a second of rows prefetched 4 batches ahead, Zipf 1.05, and batches half as fast as
//       the tier can train them, beside the same pulls of a table that is all in memory and trained
//       alike. A batch is prefetched as by workers: when a pull is answered, before its push
// Each has two forms: with a warm page cache, and with direct reads in a cgroup of cache, memtables
// and 256 MB.
//   tier_disk, tier_disk_peak
//       bytes of rows on disk, compacted, and the largest while rows are written and rewritten in
//       batches in scattered order. The "rate" is the bytes of records, the yardstick the bytes of
//       files, so that the target of 1.3 is a ratio of 1 / 1.3
#include <algorithm>
#include <deque>
#include <thread>

#include "common/median.h"
#include "common/scatter.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_tier/bare_rocksdb.h"
#include "launch/bench_tier/tier_rows.h"

namespace rowhouse {
namespace {

constexpr double kSkewed = 1.05;  // exponent of Zipf's law
constexpr uint64_t kBesideCaches = uint64_t{256} << 20;

// Distinct rows, ascending, and how often each came.
void MergeIds(std::span<const RowId> ids, std::vector<RowId>* rows,
              std::vector<uint32_t>* counts = nullptr) {
  std::vector<RowId> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  rows->clear();
  if (counts != nullptr) counts->clear();
  for (const RowId row : sorted) {
    if (rows->empty() || rows->back() != row) {
      rows->push_back(row);
      if (counts != nullptr) counts->push_back(0);
    }
    if (counts != nullptr) ++counts->back();
  }
}

// ---- Training by batches ------------------------------------------------------------------------

struct TierCase {
  const char* name;
  const char* what;
  double exponent;               // of Zipf's law; 0: uniform
  bool is_yardstick_by_id;       // bare RocksDB neither sorts nor merges ids
  std::optional<double> target;  // nullopt: 80 % of the most that a cache can save
  size_t batches;                // of a sample
};

// Enough batches that memtables are filled and flushed in a sample; few of them are where every
// batch fills a good part of one, or each id is a read of its own.
constexpr TierCase kTierCases[] = {
    {"tier_zipf", "Zipf ids, beside bare RocksDB in batches", kSkewed, false, {}, 40},
    {"tier_by_id", "Zipf ids, beside bare RocksDB id by id", kSkewed, true, 6.0, 4},
    // A cache of a tenth of the rows can save only a tenth: the cost of the tier where it cannot
    // help.
    {"tier_uniform", "uniform ids, beside bare RocksDB in batches", 0.0, false, 1.0, 4},
};

constexpr size_t kWarmBatches = 8;  // after the hottest rows

class TierBench final : public Bench {
 public:
  TierBench(const TierCase& which, const BenchOptions& kept, bool is_direct)
      : case_(which), kept_(kept), is_direct_(is_direct), batches_(TierShard::BatchOf({})) {}

  Status Open() {
    StoreEnvironmentOptions environment;
    environment.direct_reads = is_direct_;
    if (is_direct_) {  // First of all: where that is forbidden, nothing needs to be made.
      const uint64_t held =
          TierRows::kCacheBytes + environment.memtable_bytes + environment.block_cache_bytes;
      ASSIGN_OR_RETURN(limit_, MemoryLimit::Set(2 * held + kBesideCaches));
    }
    ASSIGN_OR_RETURN(tier_, TierShard::Open(kept_, is_direct_));
    ASSIGN_OR_RETURN(const std::shared_ptr<TierRows> rows, TierRows::Of(kept_));
    ASSIGN_OR_RETURN(bare_rows_, rows->MakeCopy());
    environment.block_cache_bytes += TierRows::kCacheBytes;
    ASSIGN_OR_RETURN(bare_, BareRocksDb::Open(bare_rows_->path() + "/rows", environment));
    return WarmUp();
  }

  std::string remark() const override {
    return fmt::format("; ceiling {:.2f} (1 / unique misses)", Ceiling());
  }
  std::optional<double> target() const override { return 0.8 * Ceiling(); }

  Result<double> MeasureSystem() override {
    ASSIGN_OR_RETURN(const StatsReply before, tier_->shard().Stats());
    const Result<double> rate = IdsPerSecond(
        case_.batches, TierRows::kBatchIds, [&] { return TrainBatch(); },
        [&] { return tier_->store().counters().background_jobs; });
    ASSIGN_OR_RETURN(const StatsReply after, tier_->shard().Stats());
    missed_rows_ += after.pulled.not_in_memory() - before.pulled.not_in_memory();
    unique_rows_ += after.pulled.total() - before.pulled.total();
    return rate;
  }

  Result<double> MeasureYardstick() override {
    return IdsPerSecond(
        case_.batches, TierRows::kBatchIds,
        [&] { return ChangeBareBatch(case_.is_yardstick_by_id); },
        [&] { return bare_->background_jobs(); });
  }

 private:
  // Both get the hottest rows, and then some batches as they will be measured.
  Status WarmUp() {
    RETURN_IF_ERROR(tier_->TrainHottest(system_ids_, [&](const std::vector<RowId>& rows) {
      return bare_->Read(TierRows::kSlice, rows);
    }));
    for (size_t i = 0; i < kWarmBatches; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      RETURN_IF_ERROR(TrainBatch());
      RETURN_IF_ERROR(ChangeBareBatch(/*is_by_id=*/false));
    }
    const uint64_t read = tier_->store().counters().rows_read;
    if (read >= TierRows::kCacheRows / 2) return OkStatus();
    return MakeStatus(StatusCode::kInternal,
                      "the shard read {} rows from its store, where {} were to be read", read,
                      TierRows::kCacheRows);
  }

  Status TrainBatch() {
    RowBatch& batch = batches_[0];
    MergeIds(system_ids_.Next(TierRows::kBatchIds), &batch.rows, &batch.counts);
    batch.values.resize(batch.rows.size() * TierRows::kDim);
    batch.gradients.assign(batch.rows.size() * TierRows::kDim, 0.5f);
    return tier_->shard().PullAndPush(&batches_);
  }

  Status ChangeBareBatch(bool is_by_id) {
    const std::vector<RowId> ids = bare_ids_.Next(TierRows::kBatchIds);
    if (is_by_id) return bare_->ChangeEach(TierRows::kSlice, ids);
    std::vector<RowId> rows;
    MergeIds(ids, &rows);
    return bare_->ChangeSorted(TierRows::kSlice, rows);
  }

  // The most that a cache can save: the distinct rows of all batches, divided by those of them that
  // missed; 0 before any missed.
  double Ceiling() const {
    if (missed_rows_ == 0) return 0.0;
    return static_cast<double>(unique_rows_) / static_cast<double>(missed_rows_);
  }

  const TierCase case_;
  const BenchOptions kept_;
  const bool is_direct_;
  StopSignal stop_signal_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<TemporaryDirectory> bare_rows_;
  std::unique_ptr<TierShard> tier_;
  std::unique_ptr<BareRocksDb> bare_;
  IdStream system_ids_{case_.exponent}, bare_ids_{case_.exponent};
  std::vector<RowBatch> batches_;
  uint64_t unique_rows_ = 0, missed_rows_ = 0;  // of measured batches
};

// ---- Pulls of prefetched rows -------------------------------------------------------------------

constexpr size_t kPrefetchedAhead = 4;
constexpr size_t kPrefetchPulls = 9;  // of a sample, which is their median
constexpr size_t kPrefetchWarmBatches = 24;

class PrefetchBench final : public Bench {
 public:
  PrefetchBench(const BenchOptions& kept, bool is_direct) : kept_(kept), is_direct_(is_direct) {}

  Status Open() {
    if (is_direct_) {
      constexpr uint64_t kMemoryBytes = TierRows::kRows * TierRows::kRecordBytes;
      ASSIGN_OR_RETURN(limit_,
                       MemoryLimit::Set(TierRows::kCacheBytes + kMemoryBytes +
                                        StoreEnvironmentOptions().memtable_bytes + kBesideCaches));
    }
    ASSIGN_OR_RETURN(tier_, TierShard::Open(kept_, is_direct_));
    RETURN_IF_ERROR(FillMemory());
    // The hottest rows, then batches as they will come; the last show how fast that is.
    RETURN_IF_ERROR(tier_->TrainHottest(tier_batches_.ids));
    Stopwatch stopwatch;
    for (size_t i = 0; i < kPrefetchWarmBatches; ++i) {
      RETURN_IF_ERROR(StopSignal::Check());
      if (i == kPrefetchWarmBatches / 2) stopwatch.Restart();
      std::vector<RowBatch> batches = NextBatch(tier_batches_.ids);
      RETURN_IF_ERROR(tier_->shard().PullAndPush(&batches));
    }
    batch_seconds_ = stopwatch.Seconds() / (kPrefetchWarmBatches / 2.0);
    return OkStatus();
  }

  std::string remark() const override {
    return fmt::format(
        "; {:.0f} % of the pulls waited for a disk",
        pulls_ == 0 ? 0.0 : 100.0 * static_cast<double>(waited_) / static_cast<double>(pulls_));
  }

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
    IdStream ids{kSkewed};
    size_t prefetched_ahead = 0;
    std::deque<std::vector<RowBatch>> coming = {};  // the front is next
  };

  static std::vector<RowBatch> NextBatch(IdStream& ids) {
    std::vector<RowId> rows;
    MergeIds(ids.Next(TierRows::kBatchIds), &rows);
    return TierShard::BatchOf(std::move(rows));
  }

  // The table of the yardstick: all rows in memory.
  Status FillMemory() {
    ASSIGN_OR_RETURN(std::unique_ptr<RowStore> none, RowStores().Make("memory", {}));
    OneShardOptions options = TierShard::Options();
    options.cache_rows = 0;
    ASSIGN_OR_RETURN(memory_, OneShard::Start(options, std::move(none)));
    for (uint64_t row = 0; row < TierRows::kRows;) {
      RETURN_IF_ERROR(StopSignal::Check());
      std::vector<RowId> rows;
      for (; row < TierRows::kRows && rows.size() < TierRows::kBatchIds; ++row) {
        rows.push_back(RowId{row});
      }
      std::vector<RowBatch> batches = TierShard::BatchOf(std::move(rows));
      RETURN_IF_ERROR(memory_->Pull(&batches));
    }
    return OkStatus();
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
      const Stopwatch stopwatch;
      RETURN_IF_ERROR(shard.Pull(&batches->coming.front()));
      seconds.push_back(stopwatch.Seconds());
      RETURN_IF_ERROR(PrepareNext(shard, batches));
      RETURN_IF_ERROR(shard.PullAndPush(&batches->coming.front()));
      batches->coming.pop_front();
      std::this_thread::sleep_for(
          std::chrono::duration<double>(2 * batch_seconds_ - stopwatch.Seconds()));
    }
    return 1.0 / MedianOf(seconds);
  }

  const BenchOptions kept_;
  const bool is_direct_;
  StopSignal stop_signal_;
  std::unique_ptr<MemoryLimit> limit_;
  std::unique_ptr<TierShard> tier_;
  std::unique_ptr<OneShard> memory_;
  Batches tier_batches_{.prefetched_ahead = kPrefetchedAhead}, memory_batches_;
  double batch_seconds_ = 0.0;
  uint64_t pulls_ = 0, waited_ = 0;
};

// ---- Bytes on disk ------------------------------------------------------------------------------

constexpr double kRowBytes = static_cast<double>(TierRows::kRows * TierRows::kRecordBytes);
constexpr uint64_t kRewrites = 60;  // batches

// Compacted, or at most while rows are rewritten.
Result<std::vector<BenchFigure>> BytesOnDisk(const std::string& name, const BenchOptions& kept,
                                             bool is_peak) {
  const StopSignal stop_signal;
  ASSIGN_OR_RETURN(const auto rows, TierRows::Of(kept));
  ASSIGN_OR_RETURN(const auto copy, rows->MakeCopy());
  const std::string path = copy->path() + "/rows";
  ASSIGN_OR_RETURN(const auto store, RowStores().Make("rocksdb", {.path = path}));
  double peak = rows->peak_while_filled() * kRowBytes;
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
    peak = std::max(peak, static_cast<double>(BytesOfFiles(path)));
  }
  if (is_peak) return std::vector{CountedFigure(name, "B", kRowBytes, peak, 1.0 / 1.6)};
  RETURN_IF_ERROR(store->Compact());
  const auto compacted = static_cast<double>(BytesOfFiles(path));
  return std::vector{CountedFigure(name, "B", kRowBytes, compacted, 1.0 / 1.3)};
}

bool AddTierBenches() {
  for (const TierCase& one : kTierCases) {
    AddTierBench({.name = one.name,
                  .what = one.what,
                  .unit = "ids/s",
                  .yardstick = one.is_yardstick_by_id ? "bare RocksDB, id by id"
                                                      : "bare RocksDB, unique sorted ids",
                  .target = one.target},
                 [&one](const BenchOptions& kept, bool is_direct) {
                   return MakeOpenBench<TierBench>(one, kept, is_direct);
                 });
  }
  AddTierBench({.name = "tier_prefetch",
                .what = "pulls of prefetched rows, beside rows in memory",
                .unit = "pulls/s",
                .yardstick = "all in memory",
                .target = 1.0 / 1.5},  // 1.5 times the time
               [](const BenchOptions& kept, bool is_direct) {
                 return MakeOpenBench<PrefetchBench>(kept, is_direct);
               });
  AddBench({.name = "tier_disk",
            .what = "bytes of files for those of rows, compacted",
            .time = "minutes",
            .yardstick = "bytes of files, compacted",
            .count = [](const std::string& name, const BenchOptions& kept) {
              return BytesOnDisk(name, kept, /*is_peak=*/false);
            }});
  return AddBench({.name = "tier_disk_peak",
                   .what = "the same at the worst moment",
                   .time = "minutes",
                   .yardstick = "bytes of files, at most, while rows are written",
                   .count = [](const std::string& name, const BenchOptions& kept) {
                     return BytesOnDisk(name, kept, /*is_peak=*/true);
                   }});
}

REGISTER_MEMBER(AddTierBenches());

}  // namespace
}  // namespace rowhouse
