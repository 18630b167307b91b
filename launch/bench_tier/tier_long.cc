// tier_long: a table twelve times as large as another, both too large for the cache, which holds a
// tenth of it. With --long 24 GB of records of 276 bytes in a memory cgroup of 4 GB, else 2 GB.
// Each row is touched once (pulled, pushed) in scattered order, then Zipf 1.05 trains; the hottest
// rows are touched last, so that the cache has them. All stores read past the page cache, by 16
// threads, which is faster for both sides of zipf. Its figures:
//   touched      rows/s of all of that, beside those of the first tenth of the rows
//   zipf         ids/s of training, beside bare RocksDB (bare_rocksdb.h) with the same ids, memory
//                and options, which has read its hottest blocks. Its rows are put in the same
//                order, once our table is gone. Both wait for the compactions of what was filled,
//                and pay for those of what they train
//   cold_blocks  blocks of 4 kB read for a row that is not cached, beside 1; stores opened anew
//   cold_rows    rows/s of that, beside those of the table that is a twelfth as large
//   open         seconds to open the store, beside 5
//   written      bytes written to files, beside those of rows written to the store
//   disk         bytes of files, beside those of records
//   memory       peak of the process, beside cache, memtables and block cache; by itself only, as a
//                run's other benches are in the peak
//   first_touch  rows/s of touching this many rows of a table of 10^9, beside one of 10^8
#include <algorithm>
#include <array>
#include <functional>

#include "common/host_limits.h"
#include "common/scatter.h"
#include "launch/bench/bench.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench_tier/bare_rocksdb.h"
#include "launch/bench_tier/tier_rows.h"
#include "launch/model/temporary_rows.h"
#include "ps/store/store_environment.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

constexpr uint32_t kLongDim = 65;
constexpr uint64_t kLongRecordBytes = kLongDim * sizeof(float) + 16;
constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;
constexpr uint64_t kBlockBytes = 4096;
constexpr StoreSlice kLongSlice{
    .table = TableId{0}, .first_column = 0, .record_bytes = kLongRecordBytes};
constexpr size_t kLongZipfBatches = 200, kLongWarmBatches = 20;

// All in the same ratio.
struct LongSizes {
  uint64_t rows;
  size_t batch_rows;    // of a step
  size_t cold_rows;     // read at once
  uint64_t small_rows;  // of the table that cold rows are compared with

  uint64_t cache_rows() const { return rows / 10; }
  uint64_t touched_rows() const { return rows / 8; }  // of first_touch
};
constexpr LongSizes kUsual{7'250'000, 5'000, 2'000, 604'000};
constexpr LongSizes kLong{87'000'000, 50'000, 20'000, 7'250'000};

StoreEnvironmentOptions EnvironmentOf(uint64_t cache_bytes) {
  StoreEnvironmentOptions environment;
  environment.block_cache_bytes = std::max(environment.block_cache_bytes, cache_bytes / 16);
  environment.direct_reads = true;
  return environment;
}

Result<std::unique_ptr<RowStore>> OpenStore(const std::string& path,
                                            const StoreEnvironmentOptions& environment) {
  return RowStores().Make(
      "rocksdb", {.path = path, .environment = std::make_shared<StoreEnvironment>(environment)});
}

// Rows of batches, distinct and ascending; two objects give the same.
class LongBatches {
 public:
  LongBatches(uint64_t rows, size_t batch_rows)
      : rows_(rows), batch_rows_(batch_rows), scatter_(rows, /*key=*/41), zipf_(rows, 1.05) {}

  // Those from `begin` on of all rows in scattered order, before `end`.
  std::vector<RowId> Scattered(uint64_t begin, uint64_t end) const {
    std::vector<RowId> rows;
    for (uint64_t i = begin; i < std::min(end, begin + batch_rows_); ++i) {
      rows.push_back(RowId{scatter_(i)});
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  // The hottest are the last in scattered order.
  std::vector<RowId> NextZipf() {
    std::vector<RowId> rows(batch_rows_);
    for (RowId& row : rows) row = RowId{scatter_(rows_ - zipf_.Draw(&bits_))};
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  // Ids a second of training by NextZipf. The store is idle before, and again at the end.
  Result<double> TrainZipf(const std::function<Status(std::vector<RowId>)>& train,
                           const BackgroundJobsNow& jobs) {
    RETURN_IF_ERROR(WaitForJobs(jobs));
    const auto train_next = [&] { return train(NextZipf()); };
    RETURN_IF_ERROR(IdsPerSecond(kLongWarmBatches, batch_rows_, train_next, jobs).status());
    return IdsPerSecond(kLongZipfBatches, batch_rows_, train_next, jobs);
  }

 private:
  const uint64_t rows_;
  const size_t batch_rows_;
  const Scatter scatter_;
  const Zipf zipf_;
  SplitMix64 bits_{43};
};

// A table that is touched and trained.
class LongTable {
 public:
  static Result<std::unique_ptr<LongTable>> Make(uint64_t rows, uint64_t cache_rows,
                                                 size_t batch_rows) {
    std::unique_ptr<LongTable> table(new LongTable(rows, batch_rows));
    ASSIGN_OR_RETURN(table->directory_, MakeTemporaryRows());
    ASSIGN_OR_RETURN(std::unique_ptr<RowStore> store,
                     OpenStore(table->path(), EnvironmentOf(cache_rows * kLongRecordBytes)));
    table->store_ = store.get();
    ASSIGN_OR_RETURN(table->shard_, OneShard::Start({.table_rows = rows,
                                                     .dim = kLongDim,
                                                     .request_rows = batch_rows,
                                                     .cache_rows = cache_rows},
                                                    std::move(store)));
    return table;
  }

  std::string path() const { return directory_->path() + "/rows"; }

  // Touches rows [begin, end) of a scattered order. Returns rows/s.
  Result<double> Touch(uint64_t begin, uint64_t end) {
    const Stopwatch stopwatch;
    for (uint64_t at = begin; at < end; at += batch_rows_) {
      RETURN_IF_ERROR(Train(rows_.Scattered(at, end)));
    }
    return static_cast<double>(end - begin) / stopwatch.Seconds();
  }

  Result<double> TrainZipf() {
    return rows_.TrainZipf([&](std::vector<RowId> rows) { return Train(std::move(rows)); },
                           [&] { return store_->counters().background_jobs; });
  }

  Result<StatsReply> Stats() { return shard_->Stats(); }
  void Close() { shard_ = nullptr; }

 private:
  LongTable(uint64_t rows, size_t batch_rows) : batch_rows_(batch_rows), rows_(rows, batch_rows) {}

  Status Train(std::vector<RowId> rows) {
    RETURN_IF_ERROR(StopSignal::Check());
    RowBatch& batch = batches_[0];
    batch.rows = std::move(rows);
    batch.counts.assign(batch.rows.size(), 1);
    batch.values.resize(batch.rows.size() * kLongDim);
    batch.gradients.assign(batch.rows.size() * kLongDim, 0.5f);
    return shard_->PullAndPush(&batches_);
  }

  const size_t batch_rows_;
  LongBatches rows_;
  std::unique_ptr<TemporaryDirectory> directory_;
  RowStore* store_ = nullptr;  // the shard's
  std::unique_ptr<OneShard> shard_;
  std::vector<RowBatch> batches_ = {{.table = TableId{0}, .dim = kLongDim}};
};

// A store opened anew whose rows are read at random.
class ColdRows {
 public:
  static Result<std::unique_ptr<ColdRows>> Open(const std::string& path, uint64_t rows,
                                                uint64_t cache_bytes, size_t batch_rows) {
    std::unique_ptr<ColdRows> cold(new ColdRows(rows, batch_rows));
    const Stopwatch stopwatch;
    ASSIGN_OR_RETURN(cold->store_, OpenStore(path, EnvironmentOf(cache_bytes)));
    cold->open_seconds_ = stopwatch.Seconds();
    for (size_t i = 0; i < kWarmReads; ++i) RETURN_IF_ERROR(cold->Read().status());
    cold->before_ = cold->store_->counters();
    return cold;
  }

  // Rows a second.
  Result<double> Read() {
    RETURN_IF_ERROR(StopSignal::Check());
    std::vector<RowId> rows;
    while (rows.size() < batch_rows_) rows.push_back(RowId{bits_.Next() % rows_});
    std::sort(rows.begin(), rows.end());
    std::vector<size_t> missing;
    const Stopwatch stopwatch;
    RETURN_IF_ERROR(store_->Get(kLongSlice, rows, records_, &missing));
    return static_cast<double>(batch_rows_) / stopwatch.Seconds();
  }

  double open_seconds() const { return open_seconds_; }
  // Since it was opened; rows that only the cache had are not in the store.
  double BlocksPerRow() const {
    const RowStoreCounters after = store_->counters();
    return static_cast<double>(after.file_bytes_read - before_.file_bytes_read) /
           static_cast<double>(kBlockBytes) /
           (static_cast<double>(after.bytes_read - before_.bytes_read) / kLongRecordBytes);
  }

 private:
  static constexpr size_t kWarmReads = 8;  // parts of the index come into the block cache

  ColdRows(uint64_t rows, size_t batch_rows)
      : rows_(rows), batch_rows_(batch_rows), records_(batch_rows * kLongRecordBytes) {}

  const uint64_t rows_;
  const size_t batch_rows_;
  std::vector<std::byte> records_;
  SplitMix64 bits_{47};
  std::unique_ptr<RowStore> store_;
  double open_seconds_ = 0;
  RowStoreCounters before_;
};

// first_touch: tables of 10^9 and 10^8 rows.
Result<BenchFigure> MeasureFirstTouch(const std::string& name, const LongSizes& sizes) {
  std::array<double, 2> rates = {};
  constexpr std::array<uint64_t, 2> kRows = {1'000'000'000, 100'000'000};
  for (size_t i = 0; i < kRows.size(); ++i) {
    ASSIGN_OR_RETURN(const auto table,
                     LongTable::Make(kRows[i], sizes.cache_rows(), sizes.batch_rows));
    ASSIGN_OR_RETURN(rates[i], table->Touch(0, sizes.touched_rows()));
  }
  return CountedFigure(name + "/first_touch", "rows/s", rates[0], rates[1], 1 / 1.3);
}

Status MeasureColdRows(const std::string& name, const LongSizes& sizes, const LongTable& large,
                       const LongTable& small, std::vector<BenchFigure>* figures) {
  const uint64_t cache_bytes = sizes.cache_rows() * kLongRecordBytes;
  ASSIGN_OR_RETURN(const auto large_cold,
                   ColdRows::Open(large.path(), sizes.rows, cache_bytes, sizes.cold_rows));
  ASSIGN_OR_RETURN(const auto small_cold,
                   ColdRows::Open(small.path(), sizes.small_rows, 0, sizes.cold_rows));
  std::vector<BenchPair> pairs;
  for (int i = 0; i < kMeasuredPairs; ++i) {
    ASSIGN_OR_RETURN(const double system, large_cold->Read());
    ASSIGN_OR_RETURN(const double yardstick, small_cold->Read());
    pairs.push_back({.system = system, .yardstick = yardstick});
  }
  figures->push_back(
      CountedFigure(name + "/cold_blocks", "blocks/row", large_cold->BlocksPerRow(), 1.0));
  figures->push_back(Summarise(name + "/cold_rows", "rows/s", 1 / 1.5, pairs));
  figures->push_back(CountedFigure(name + "/open", "s", large_cold->open_seconds(), 5.0));
  return OkStatus();
}

// Ids a second of bare RocksDB.
Result<double> TrainBare(const LongSizes& sizes) {
  LongBatches batches(sizes.rows, sizes.batch_rows);
  ASSIGN_OR_RETURN(const auto directory, MakeTemporaryRows());
  const std::string path = directory->path() + "/rows";
  const uint64_t cache_bytes = sizes.cache_rows() * kLongRecordBytes;
  StoreEnvironmentOptions environment = EnvironmentOf(cache_bytes);
  {
    ASSIGN_OR_RETURN(const auto store, OpenStore(path, environment));
    std::vector<std::byte> records(sizes.batch_rows * kLongRecordBytes);
    for (uint64_t at = 0; at < sizes.rows; at += sizes.batch_rows) {
      RETURN_IF_ERROR(StopSignal::Check());
      const std::vector<RowId> rows = batches.Scattered(at, sizes.rows);
      records.resize(rows.size() * kLongRecordBytes);
      RETURN_IF_ERROR(store->Put(kLongSlice, rows, records));
    }
    RETURN_IF_ERROR(WaitForJobs([&] { return store->counters().background_jobs; }));
  }
  environment.block_cache_bytes += cache_bytes;
  environment.min_file_bytes =  // As the store has them, whose files have grown.
      RowFileSizes::Of(sizes.rows * kLongRecordBytes, environment.min_file_bytes).file_bytes;
  ASSIGN_OR_RETURN(const auto bare, BareRocksDb::Open(path, environment));
  // As many of the hottest rows as there is room for blocks.
  for (uint64_t at = sizes.rows - cache_bytes / kBlockBytes; at < sizes.rows;
       at += sizes.batch_rows) {
    RETURN_IF_ERROR(StopSignal::Check());
    RETURN_IF_ERROR(bare->Read(kLongSlice, batches.Scattered(at, sizes.rows)));
  }
  return batches.TrainZipf(
      [&](const std::vector<RowId>& rows) { return bare->ChangeSorted(kLongSlice, rows); },
      [&] { return bare->background_jobs(); });
}

Status MeasureTraining(const std::string& name, const LongSizes& sizes, LongTable* table,
                       double* trained, std::vector<BenchFigure>* figures) {
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const double first_tenth, table->Touch(0, sizes.rows / 10));
  RETURN_IF_ERROR(table->Touch(sizes.rows / 10, sizes.rows).status());
  const double touched = static_cast<double>(sizes.rows) / stopwatch.Seconds();
  figures->push_back(CountedFigure(name + "/touched", "rows/s", touched, first_tenth));
  ASSIGN_OR_RETURN(*trained, table->TrainZipf());
  ASSIGN_OR_RETURN(const StatsReply stats, table->Stats());
  if (stats.rows_written < sizes.rows / 2) {
    return MakeStatus(StatusCode::kInternal, "only {} rows were written", stats.rows_written);
  }
  const auto record_bytes = static_cast<double>(kLongRecordBytes);
  figures->push_back(CountedFigure(name + "/written", "B",
                                   static_cast<double>(stats.store_bytes_written),
                                   static_cast<double>(stats.rows_written) * record_bytes));
  figures->push_back(CountedFigure(name + "/disk", "B",
                                   static_cast<double>(BytesOfFiles(table->path())),
                                   static_cast<double>(sizes.rows) * record_bytes));
  const uint64_t cache_bytes = sizes.cache_rows() * kLongRecordBytes;
  const StoreEnvironmentOptions environment = EnvironmentOf(cache_bytes);
  figures->push_back(CountedFigure(name + "/memory", "B", static_cast<double>(PeakBytesOfProcess()),
                                   static_cast<double>(cache_bytes + environment.memtable_bytes +
                                                       environment.block_cache_bytes)));
  return OkStatus();
}

Result<std::vector<BenchFigure>> MeasureLongRun(const std::string& name,
                                                const BenchOptions& options) {
  const StopSignal stop_signal;
  const LongSizes& sizes = options.is_long ? kLong : kUsual;
  std::unique_ptr<MemoryLimit> limit;
  if (options.is_long) {
    ASSIGN_OR_RETURN(limit, MemoryLimit::Set(kMemoryBytes));
  }
  std::vector<BenchFigure> figures;
  ASSIGN_OR_RETURN(const auto small,
                   LongTable::Make(sizes.small_rows, sizes.small_rows / 10, sizes.batch_rows));
  RETURN_IF_ERROR(small->Touch(0, sizes.small_rows).status());
  small->Close();
  double trained = 0;
  {
    ASSIGN_OR_RETURN(const auto table,
                     LongTable::Make(sizes.rows, sizes.cache_rows(), sizes.batch_rows));
    RETURN_IF_ERROR(MeasureTraining(name, sizes, table.get(), &trained, &figures));
    table->Close();
    RETURN_IF_ERROR(MeasureColdRows(name, sizes, *table, *small, &figures));
  }
  ASSIGN_OR_RETURN(const double bare, TrainBare(sizes));
  figures.push_back(CountedFigure(name + "/zipf", "ids/s", trained, bare, 2.5));
  ASSIGN_OR_RETURN(const BenchFigure first_touch, MeasureFirstTouch(name, sizes));
  figures.push_back(first_touch);
  return figures;
}

REGISTER_MEMBER(AddBench(
    {.name = "tier_long",
     .what = "a table of 2 GB, with --long of 24 GB in an hour, beside a smaller one",
     .time = "1 minute",
     .yardstick =
         "first tenth; bare RocksDB; one block; a smaller table; 5 s; bytes of rows; cache",
     .count = &MeasureLongRun}));

}  // namespace
}  // namespace rowhouse
