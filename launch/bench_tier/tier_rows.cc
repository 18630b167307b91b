#include "launch/bench_tier/tier_rows.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "sharding/rows/record.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKeptAs = "tier_rows";

}  // namespace

uint64_t BytesOfFiles(const std::string& directory) {
  uint64_t bytes = 0;
  std::error_code gone;  // Files come and go meanwhile.
  for (const auto& entry : fs::directory_iterator(directory, gone)) {
    std::error_code error;
    const uint64_t size = entry.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

Status WaitForJobs(const BackgroundJobsNow& jobs) {
  while (jobs() > 0) {
    RETURN_IF_ERROR(StopSignal::Check());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return OkStatus();
}

Result<double> IdsPerSecond(size_t batches, size_t batch_ids, const std::function<Status()>& work,
                            const BackgroundJobsNow& jobs) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < batches; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    RETURN_IF_ERROR(work());
  }
  RETURN_IF_ERROR(WaitForJobs(jobs));
  return static_cast<double>(batches * batch_ids) / stopwatch.Seconds();
}

Result<std::shared_ptr<TierRows>> TierRows::Of(const BenchOptions& options) {
  if (options.kept != nullptr && options.kept->contains(kKeptAs)) {
    return std::static_pointer_cast<TierRows>(options.kept->at(kKeptAs));
  }
  ASSIGN_OR_RETURN(auto directory, MakeTemporaryRows());
  std::shared_ptr<TierRows> rows(new TierRows(std::move(directory)));
  RETURN_IF_ERROR(rows->Fill());
  if (options.kept != nullptr) options.kept->emplace(kKeptAs, rows);
  return rows;
}

Status TierRows::Fill() {
  const std::string path = directory_->path() + "/filled";
  ASSIGN_OR_RETURN(const auto store, RowStores().Make("rocksdb", {.path = path}));
  const Scatter scatter(kRows, /*key=*/11);
  SplitMix64 bits(5);
  std::vector<RowId> rows(kBatchIds);
  std::vector<std::byte> records(kBatchIds * kRecordBytes);
  for (uint64_t first = 0; first < kRows; first += kBatchIds) {
    RETURN_IF_ERROR(StopSignal::Check());
    for (uint64_t i = 0; i < kBatchIds; ++i) rows[i] = RowId{scatter(first + i)};
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < kBatchIds; ++i) {
      std::byte* record = records.data() + i * kRecordBytes;
      for (uint32_t c = 0; c < kDim; ++c) {  // Mantissas of trained floats: noise.
        const float weight = static_cast<float>(bits.Next() >> 40) * 0x1p-24f - 0.5f;
        std::memcpy(record + c * sizeof(float), &weight, sizeof weight);
      }
      const RecordTrailer trailer{.lsn = 1, .last_step = 0, .frequency = 1};
      std::memcpy(record + kDim * sizeof(float), &trailer, sizeof trailer);
    }
    RETURN_IF_ERROR(store->Put(kSlice, rows, records));
    const uint64_t written = (first + kBatchIds) * kRecordBytes;
    if (written < kRows * kRecordBytes / 10) continue;
    peak_ = std::max(peak_, static_cast<double>(BytesOfFiles(path)) / static_cast<double>(written));
  }
  return store->Sync();
}

Result<std::unique_ptr<TemporaryDirectory>> TierRows::MakeCopy() const {
  ASSIGN_OR_RETURN(std::unique_ptr<TemporaryDirectory> copy, MakeTemporaryRows());
  const std::string path = copy->path() + "/rows";
  std::error_code error;
  fs::create_directory(path, error);
  for (const auto& entry : fs::directory_iterator(directory_->path() + "/filled", error)) {
    if (error) break;
    const std::string name = entry.path().filename();
    if (name == "LOCK") continue;
    const fs::path to = fs::path(path) / name;
    if (entry.path().extension() == ".sst") {
      fs::create_hard_link(entry.path(), to, error);
    } else {
      fs::copy_file(entry.path(), to, error);
    }
    if (error) break;
  }
  if (error) return IoError("cannot copy rows to {}: {}", path, error.message());
  return copy;
}

std::vector<RowId> IdStream::Next(size_t ids) {
  std::vector<RowId> rows(ids);
  for (RowId& row : rows) row = OfRank(zipf_.Draw(&bits_));
  return rows;
}

OneShardOptions TierShard::Options() {
  return {.table_rows = TierRows::kRows,
          .dim = TierRows::kDim,
          .request_rows = TierRows::kBatchIds,
          .cache_rows = TierRows::kCacheRows};
}

Result<std::unique_ptr<TierShard>> TierShard::Open(const BenchOptions& kept, bool is_direct) {
  std::unique_ptr<TierShard> tier(new TierShard);
  ASSIGN_OR_RETURN(const std::shared_ptr<TierRows> rows, TierRows::Of(kept));
  ASSIGN_OR_RETURN(tier->copy_, rows->MakeCopy());
  StoreEnvironmentOptions environment;
  environment.direct_reads = is_direct;
  ASSIGN_OR_RETURN(
      std::unique_ptr<RowStore> store,
      RowStores().Make("rocksdb",
                       {.path = tier->copy_->path() + "/rows",
                        .environment = std::make_shared<StoreEnvironment>(environment)}));
  tier->store_ = store.get();
  ASSIGN_OR_RETURN(tier->shard_, OneShard::Start(Options(), std::move(store)));
  return tier;
}

Status TierShard::TrainHottest(const IdStream& ids, const TakeRows& also) {
  for (uint64_t rank = TierRows::kCacheRows; rank > 0;) {
    RETURN_IF_ERROR(StopSignal::Check());
    std::vector<RowId> rows;
    for (; rank > 0 && rows.size() < TierRows::kBatchIds; --rank) rows.push_back(ids.OfRank(rank));
    std::sort(rows.begin(), rows.end());
    if (also != nullptr) RETURN_IF_ERROR(also(rows));
    std::vector<RowBatch> batches = BatchOf(std::move(rows));
    RETURN_IF_ERROR(shard_->PullAndPush(&batches));
  }
  return OkStatus();
}

std::vector<RowBatch> TierShard::BatchOf(std::vector<RowId> rows) {
  std::vector<RowBatch> batches(1);
  RowBatch& batch = batches[0];
  batch.table = TierRows::kSlice.table;
  batch.dim = TierRows::kDim;
  batch.counts.assign(rows.size(), 1);
  batch.values.resize(rows.size() * TierRows::kDim);
  batch.gradients.assign(rows.size() * TierRows::kDim, 0.5f);
  batch.rows = std::move(rows);
  return batches;
}

bool AddTierBench(BenchDeclaration bench, const MakeTierBench& make) {
  bench.time = "minutes";
  BenchDeclaration direct = bench;
  bench.make = [make](const BenchOptions& kept) { return make(kept, /*is_direct=*/false); };
  direct.name += "_direct";
  direct.what = "the same past the page cache, in memory cgroups";
  direct.yardstick += ", both direct, in a cgroup";
  direct.make = [make](const BenchOptions& kept) { return make(kept, /*is_direct=*/true); };
  return AddBench(std::move(bench)) && AddBench(std::move(direct));
}

}  // namespace rowhouse
