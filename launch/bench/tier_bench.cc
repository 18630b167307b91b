#include "launch/bench/tier_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace rowhouse {
namespace {

// Of a sample: enough that memtables are filled and flushed in it; few of them are where every
// batch fills a good part of one, or each id is a read of its own.
constexpr size_t kBatches = 40, kFewBatches = 4;
constexpr size_t kWarmBatches = 8;  // after the hottest rows
constexpr uint64_t kMiB = uint64_t{1} << 20;

StoreEnvironmentOptions Environment(bool is_direct) {
  StoreEnvironmentOptions options;
  options.direct_reads = is_direct;
  return options;
}

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

}  // namespace

IdStream::IdStream(double exponent)
    : zipf_(TierRows::kRows, exponent), scatter_(TierRows::kRows, /*key=*/3), bits_(17) {}

RowId IdStream::OfRank(uint64_t rank) const { return RowId{scatter_(rank - 1)}; }

std::vector<RowId> IdStream::Next(size_t ids) {
  std::vector<RowId> rows(ids);
  for (RowId& row : rows) row = OfRank(zipf_.Draw(&bits_));
  return rows;
}

TierBench::TierBench(const TierBenchOptions& options)
    : options_(options), system_ids_(options.exponent), bare_ids_(options.exponent) {}

// Shard and databases before the limit and the directories.
TierBench::~TierBench() {
  shard_.reset();
  store_.reset();
  bare_.reset();
}

Result<std::unique_ptr<Bench>> TierBench::Make(const BenchOptions& kept,
                                               const TierBenchOptions& options) {
  std::unique_ptr<TierBench> bench(new TierBench(options));
  RETURN_IF_ERROR(bench->Open(kept));
  RETURN_IF_ERROR(bench->WarmUp());
  return std::unique_ptr<Bench>(std::move(bench));
}

Status TierBench::Open(const BenchOptions& kept) {
  const StoreEnvironmentOptions environment = Environment(options_.is_direct);
  if (options_.is_direct) {  // First of all: where that is forbidden, nothing needs to be made.
    const uint64_t held =
        TierRows::kCacheBytes + environment.memtable_bytes + environment.block_cache_bytes;
    ASSIGN_OR_RETURN(limit_, MemoryLimit::Set(2 * held + 256 * kMiB));
  }
  ASSIGN_OR_RETURN(rows_, TierRows::Of(kept));
  ASSIGN_OR_RETURN(system_rows_, rows_->MakeCopy());
  ASSIGN_OR_RETURN(bare_rows_, rows_->MakeCopy());
  ASSIGN_OR_RETURN(
      std::unique_ptr<RowStore> store,
      RowStores().Make("rocksdb",
                       {.path = system_rows_->path(),
                        .environment = std::make_shared<StoreEnvironment>(environment)}));
  store_ = std::move(store);
  ASSIGN_OR_RETURN(shard_, OneShard::Start({.table_rows = TierRows::kRows,
                                            .dim = TierRows::kDim,
                                            .request_rows = TierRows::kBatchIds,
                                            .cache_rows = TierRows::kCacheRows,
                                            .store = store_}));
  StoreEnvironmentOptions with_cache = environment;
  with_cache.block_cache_bytes += TierRows::kCacheBytes;
  ASSIGN_OR_RETURN(bare_, BareRocksDb::Open(bare_rows_->path(), with_cache));
  batches_.push_back({.table = TierRows::kSlice.table, .dim = TierRows::kDim});
  return OkStatus();
}

// Everybody gets the hottest rows, and then some batches as they will be measured.
Status TierBench::WarmUp() {
  for (uint64_t rank = TierRows::kCacheRows; rank > 0;) {  // The hottest last.
    RETURN_IF_ERROR(StopSignal::Check());
    std::vector<RowId> rows;
    for (; rank > 0 && rows.size() < TierRows::kBatchIds; --rank) {
      rows.push_back(system_ids_.OfRank(rank));
    }
    std::sort(rows.begin(), rows.end());
    RETURN_IF_ERROR(bare_->Read(TierRows::kSlice, rows));
    RowBatch& batch = batches_[0];
    batch.counts.assign(rows.size(), 1);
    batch.values.resize(rows.size() * TierRows::kDim);
    batch.gradients.assign(rows.size() * TierRows::kDim, 0.0f);
    batch.rows = std::move(rows);
    RETURN_IF_ERROR(shard_->PullAndPush(&batches_));
  }
  for (size_t i = 0; i < kWarmBatches; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    RETURN_IF_ERROR(TrainBatch(system_ids_.Next(TierRows::kBatchIds)));
    std::vector<RowId> rows;
    Merge(bare_ids_.Next(TierRows::kBatchIds), &rows, nullptr);
    RETURN_IF_ERROR(bare_->ChangeSorted(TierRows::kSlice, rows));
  }
  if (store_->counters().rows_read < TierRows::kCacheRows / 2) {
    return MakeStatus(StatusCode::kInternal,
                      "the shard read {} rows from its store, where {} were to be read",
                      store_->counters().rows_read, TierRows::kCacheRows);
  }
  return OkStatus();
}

Status TierBench::TrainBatch(std::span<const RowId> ids) {
  RowBatch& batch = batches_[0];
  Merge(ids, &batch.rows, &batch.counts);
  batch.values.resize(batch.rows.size() * TierRows::kDim);
  batch.gradients.assign(batch.rows.size() * TierRows::kDim, 0.5f);
  return shard_->PullAndPush(&batches_);
}

size_t TierBench::BatchesOfSample() const {
  return options_.yardstick_by_id || options_.exponent == 0.0 ? kFewBatches : kBatches;
}

Result<double> TierBench::MeasureSystem() {
  ASSIGN_OR_RETURN(const StatsReply before, shard_->Stats());
  const Result<double> rate = IdsPerSecond(
      BatchesOfSample(), [&] { return TrainBatch(system_ids_.Next(TierRows::kBatchIds)); },
      [&] { return store_->counters().background_jobs; });
  ASSIGN_OR_RETURN(const StatsReply after, shard_->Stats());
  missed_rows_ += after.pulled.not_in_memory() - before.pulled.not_in_memory();
  unique_rows_ += after.pulled.total() - before.pulled.total();
  return rate;
}

Result<double> TierBench::MeasureYardstick() {
  const auto jobs = [&] { return bare_->background_jobs(); };
  if (options_.yardstick_by_id) {
    return IdsPerSecond(
        BatchesOfSample(),
        [&] { return bare_->ChangeEach(TierRows::kSlice, bare_ids_.Next(TierRows::kBatchIds)); },
        jobs);
  }
  return IdsPerSecond(
      BatchesOfSample(),
      [&] {
        std::vector<RowId> rows;
        Merge(bare_ids_.Next(TierRows::kBatchIds), &rows, nullptr);
        return bare_->ChangeSorted(TierRows::kSlice, rows);
      },
      jobs);
}

double TierBench::Ceiling() const {
  if (missed_rows_ == 0) return 0.0;
  return static_cast<double>(unique_rows_) / static_cast<double>(missed_rows_);
}

std::optional<double> TierBench::target() const {
  if (options_.target) return options_.target;
  return 0.8 * Ceiling();
}

std::string TierBench::yardstick() const {
  return fmt::format("bare RocksDB, {}{}; ceiling {:.2f} (1 / unique misses)",
                     options_.yardstick_by_id ? "id by id" : "unique sorted ids",
                     options_.is_direct ? ", both direct, in a cgroup" : "", Ceiling());
}

bool AddTierBench(const std::string& name, const std::string& what,
                  const TierBenchOptions& options) {
  for (const bool is_direct : {false, true}) {
    TierBenchOptions of_name = options;
    of_name.is_direct = is_direct;
    AddBench(name + (is_direct ? "_direct" : ""),
             {is_direct ? "the same past the page cache, in memory cgroups" : what, "minutes"},
             [of_name](const BenchOptions& kept) { return TierBench::Make(kept, of_name); });
  }
  return true;
}

}  // namespace rowhouse
