// tier_long, with --long: a table of 10^8 rows of 16 floats with a cache of 512 MB, on an empty
// disk. Each row is touched once (pulled, pushed) in scattered order, then Zipf 1.05 trains. Its
// figures:
//   touched   rows/s of all of that, beside those of the first tenth of the rows
//   zipf      ids/s, beside the rows/s of touching
//   cold      blocks of 4 kB read for a row that is not cached, beside 1
//   written   bytes written to files, beside those of rows written to the store
//   disk      bytes of files, beside weights and 16 bytes a row
//   memory    peak of the process, beside cache, memtables and block cache; by itself only, as a
//             run's other benches are in the peak
// Some minutes and 10 GB.
#include <algorithm>

#include "common/scatter.h"
#include "launch/bench/bench.h"
#include "launch/bench/one_shard.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "launch/bench/tier_rows.h"
#include "launch/run/temporary_rows.h"
#include "ps/shard/process_memory.h"
#include "ps/store/store_environment.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

constexpr uint64_t kLongRunRows = 100'000'000;
constexpr uint32_t kLongRunDim = 16;
constexpr uint64_t kLongRunRecordBytes = kLongRunDim * sizeof(float) + 16;
constexpr uint64_t kLongRunCacheBytes = uint64_t{512} << 20;
constexpr uint64_t kTenth = kLongRunRows / 10;
constexpr size_t kBatchRows = 100'000;
constexpr size_t kZipfBatches = 100, kColdBatches = 20;

// Rows a second.
struct Rates {
  double first_tenth = 0.0, touched = 0.0, trained = 0.0;
  double blocks_a_row = 0.0;  // that was not in memory
  double write_amplification = 0.0;
};

// Touches every row once, then trains by Zipf.
Result<Rates> TouchAndTrain(OneShard* shard) {
  std::vector<RowBatch> batches = {{.table = TableId{0}, .dim = kLongRunDim}};
  std::vector<RowId>& rows = batches[0].rows;
  const auto train = [&]() -> Status {
    RETURN_IF_ERROR(StopSignal::Check());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    batches[0].counts.assign(rows.size(), 1);
    batches[0].values.resize(rows.size() * kLongRunDim);
    batches[0].gradients.assign(rows.size() * kLongRunDim, 0.5f);
    return shard->PullAndPush(&batches);
  };

  Rates rates;
  const Scatter scatter(kLongRunRows, /*key=*/41);
  Stopwatch stopwatch;
  for (uint64_t at = 0; at < kLongRunRows; at += kBatchRows) {
    rows.clear();
    for (uint64_t i = at; i < at + kBatchRows; ++i) rows.push_back(RowId{scatter(i)});
    RETURN_IF_ERROR(train());
    if (at + kBatchRows == kTenth) {
      rates.first_tenth = kTenth / stopwatch.Seconds();
    }
  }
  rates.touched = kLongRunRows / stopwatch.Seconds();

  const Zipf zipf(kLongRunRows, 1.05);
  SplitMix64 bits(43);
  stopwatch.Restart();
  for (size_t i = 0; i < kZipfBatches; ++i) {
    rows.clear();
    while (rows.size() < kBatchRows) rows.push_back(RowId{scatter(zipf.Draw(&bits) - 1)});
    RETURN_IF_ERROR(train());
  }
  rates.trained = kZipfBatches * kBatchRows / stopwatch.Seconds();
  ASSIGN_OR_RETURN(const StatsReply before, shard->Stats());
  for (size_t i = 0; i < kColdBatches; ++i) {
    rows.clear();
    while (rows.size() < kBatchRows) rows.push_back(RowId{bits.Next() % kLongRunRows});
    RETURN_IF_ERROR(train());
  }
  ASSIGN_OR_RETURN(const StatsReply stats, shard->Stats());
  constexpr double kBlockBytes = 4096;
  rates.blocks_a_row = static_cast<double>(stats.store_bytes_read - before.store_bytes_read) /
                       kBlockBytes /
                       static_cast<double>(stats.store_rows_read - before.store_rows_read);
  rates.write_amplification = static_cast<double>(stats.store_bytes_written) /
                              static_cast<double>(stats.rows_written * kLongRunRecordBytes);
  if (stats.rows_written < kLongRunRows / 2) {
    return MakeStatus(StatusCode::kInternal, "only {} rows were written", stats.rows_written);
  }
  return rates;
}

Result<std::vector<BenchFigure>> MeasureLongRun(const std::string& name,
                                                const BenchOptions& options) {
  if (!options.is_long) {
    fmt::print("{} left out: it takes minutes and 10 GB of disk; give --long\n", name);
    return std::vector<BenchFigure>();
  }
  const StopSignal stop_signal;
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> directory, MakeTemporaryRows());
  const StoreEnvironmentOptions environment;
  ASSIGN_OR_RETURN(
      std::unique_ptr<RowStore> store,
      RowStores().Make("rocksdb",
                       {.path = directory->path() + "/rows",
                        .environment = std::make_shared<StoreEnvironment>(environment)}));
  ASSIGN_OR_RETURN(const std::unique_ptr<OneShard> shard,
                   OneShard::Start({.table_rows = kLongRunRows,
                                    .dim = kLongRunDim,
                                    .request_rows = kBatchRows,
                                    .cache_rows = kLongRunCacheBytes / kLongRunRecordBytes},
                                   std::move(store)));
  ASSIGN_OR_RETURN(const Rates rates, TouchAndTrain(shard.get()));
  const auto held = static_cast<double>(kLongRunCacheBytes + environment.memtable_bytes +
                                        environment.block_cache_bytes);
  return std::vector{
      CountedFigure(name + "/touched", "rows/s", rates.touched, rates.first_tenth),
      CountedFigure(name + "/zipf", "ids/s", rates.trained, rates.touched),
      CountedFigure(name + "/cold", "blocks/row", rates.blocks_a_row, 1.0),
      CountedFigure(name + "/written", "", rates.write_amplification, 1.0),
      CountedFigure(name + "/disk", "B",
                    static_cast<double>(BytesOfFiles(directory->path() + "/rows")),
                    kLongRunRows * kLongRunRecordBytes),
      CountedFigure(name + "/memory", "B", static_cast<double>(PeakBytesOfProcess()), held)};
}

REGISTER_MEMBER(AddBench(
    {.name = "tier_long",
     .what = "with --long: a table of 10^8 rows; 10 GB of disk",
     .time = "10 min",
     .yardstick = "rows/s of the first tenth; of touching; bytes of rows; cache and memtables",
     .count = &MeasureLongRun}));

}  // namespace
}  // namespace rowhouse
