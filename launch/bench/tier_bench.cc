// tier_zipf, tier_by_id, tier_uniform: the storage tier: a shard over rocksdb whose cache holds a
// tenth of the table, trained by batches of 20,000 ids (pull, push), beside bare RocksDB with the
// same memory that reads, changes and writes the same ids. All rows exist, and both have seen the
// hottest before they are measured.
//
// Each has two forms: with a warm page cache, and with direct reads in a cgroup of cache, memtables
// and 256 MB. The figure includes the messages, a few percent of the time.
#include <algorithm>
#include <chrono>
#include <thread>

#include "launch/bench/bare_rocksdb.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/tier_rows.h"

namespace rowhouse {
namespace {

struct TierCase {
  const char* name;
  const char* what;
  double exponent;               // of Zipf's law; 0: uniform
  bool is_yardstick_by_id;       // bare RocksDB neither sorts nor merges ids
  std::optional<double> target;  // the least ratio; nullopt: 80 % of the most that a cache can gain
};

constexpr TierCase kTierCases[] = {
    {"tier_zipf", "Zipf ids, beside bare RocksDB in batches", 1.05, false, {}},
    {"tier_by_id", "Zipf ids, beside bare RocksDB id by id", 1.05, true, 6.0},
    // A cache of a tenth of the rows can save only a tenth: the cost of the tier where it cannot
    // help.
    {"tier_uniform", "uniform ids, beside bare RocksDB in batches", 0.0, false, 1.0},
};

// Of a sample: enough that memtables are filled and flushed in it; few of them are where every
// batch fills a good part of one, or each id is a read of its own.
constexpr size_t kBatches = 40, kFewBatches = 4;
constexpr size_t kWarmBatches = 8;  // after the hottest rows

// Distinct rows, ascending, and how often each came.
void Merge(std::span<const RowId> ids, std::vector<RowId>* rows, std::vector<uint32_t>* counts) {
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

// Until its database has nothing more to do: a sample pays for its own flushes and compactions,
// and leaves none to the next one, which is not its own.
template <typename Work, typename Jobs>
Result<double> IdsPerSecond(size_t batches, Work work, Jobs jobs) {
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < batches; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    RETURN_IF_ERROR(work());
  }
  while (jobs() > 0) {
    RETURN_IF_ERROR(StopSignal::Check());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(batches * TierRows::kBatchIds) / seconds.count();
}

class TierBench final : public Bench {
 public:
  TierBench(const TierCase& which, bool is_direct)
      : case_(which), is_direct_(is_direct), batches_(TierShard::BatchOf({})) {}

  static Result<std::unique_ptr<Bench>> Make(const TierCase& which, const BenchOptions& kept,
                                             bool is_direct) {
    auto bench = std::make_unique<TierBench>(which, is_direct);
    RETURN_IF_ERROR(bench->Open(kept));
    RETURN_IF_ERROR(bench->WarmUp());
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "ids/s"; }
  std::string yardstick() const override {
    return fmt::format("bare RocksDB, {}{}; ceiling {:.2f} (1 / unique misses)",
                       case_.is_yardstick_by_id ? "id by id" : "unique sorted ids",
                       is_direct_ ? ", both direct, in a cgroup" : "", Ceiling());
  }
  std::optional<double> target() const override {
    return case_.target ? case_.target : 0.8 * Ceiling();
  }

  Result<double> MeasureSystem() override {
    ASSIGN_OR_RETURN(const StatsReply before, tier_->shard().Stats());
    const Result<double> rate = IdsPerSecond(
        BatchesOfSample(), [&] { return TrainBatch(); },
        [&] { return tier_->store().counters().background_jobs; });
    ASSIGN_OR_RETURN(const StatsReply after, tier_->shard().Stats());
    missed_rows_ += after.pulled.not_in_memory() - before.pulled.not_in_memory();
    unique_rows_ += after.pulled.total() - before.pulled.total();
    return rate;
  }

  Result<double> MeasureYardstick() override {
    return IdsPerSecond(
        BatchesOfSample(), [&] { return ChangeBareBatch(case_.is_yardstick_by_id); },
        [&] { return bare_->background_jobs(); });
  }

 private:
  Status Open(const BenchOptions& kept) {
    StoreEnvironmentOptions environment = TierShard::Environment(is_direct_);
    if (is_direct_) {  // First of all: where that is forbidden, nothing needs to be made.
      const uint64_t held =
          TierRows::kCacheBytes + environment.memtable_bytes + environment.block_cache_bytes;
      ASSIGN_OR_RETURN(limit_, MemoryLimit::Set(2 * held + (uint64_t{256} << 20)));
    }
    ASSIGN_OR_RETURN(tier_, TierShard::Open(kept, is_direct_));
    ASSIGN_OR_RETURN(rows_, TierRows::Of(kept));
    ASSIGN_OR_RETURN(bare_rows_, rows_->MakeCopy());
    environment.block_cache_bytes += TierRows::kCacheBytes;
    ASSIGN_OR_RETURN(bare_, BareRocksDb::Open(bare_rows_->path(), environment));
    return OkStatus();
  }

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

  size_t BatchesOfSample() const {
    return case_.is_yardstick_by_id || case_.exponent == 0.0 ? kFewBatches : kBatches;
  }

  Status TrainBatch() {
    RowBatch& batch = batches_[0];
    Merge(system_ids_.Next(TierRows::kBatchIds), &batch.rows, &batch.counts);
    batch.values.resize(batch.rows.size() * TierRows::kDim);
    batch.gradients.assign(batch.rows.size() * TierRows::kDim, 0.5f);
    return tier_->shard().PullAndPush(&batches_);
  }

  Status ChangeBareBatch(bool is_by_id) {
    const std::vector<RowId> ids = bare_ids_.Next(TierRows::kBatchIds);
    if (is_by_id) return bare_->ChangeEach(TierRows::kSlice, ids);
    std::vector<RowId> rows;
    Merge(ids, &rows, nullptr);
    return bare_->ChangeSorted(TierRows::kSlice, rows);
  }

  // The most that a cache can gain: the distinct rows of all batches, divided by those of them that
  // missed; 0 before any missed.
  double Ceiling() const {
    if (missed_rows_ == 0) return 0.0;
    return static_cast<double>(unique_rows_) / static_cast<double>(missed_rows_);
  }

  const TierCase case_;
  const bool is_direct_;
  StopSignal stop_signal_;
  std::unique_ptr<MemoryLimit> limit_;
  std::shared_ptr<TierRows> rows_;
  std::unique_ptr<TierRows::Copy> bare_rows_;
  std::unique_ptr<TierShard> tier_;
  std::unique_ptr<BareRocksDb> bare_;
  IdStream system_ids_{case_.exponent}, bare_ids_{case_.exponent};
  std::vector<RowBatch> batches_;
  uint64_t unique_rows_ = 0, missed_rows_ = 0;  // of measured batches
};

bool AddTierCases() {
  for (const TierCase& one : kTierCases) {
    AddTierBench(one.name, one.what, [one](const BenchOptions& kept, bool is_direct) {
      return TierBench::Make(one, kept, is_direct);
    });
  }
  return true;
}

REGISTER_MEMBER(AddTierCases());

}  // namespace
}  // namespace rowhouse
