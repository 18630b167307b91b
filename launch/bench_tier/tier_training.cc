// tier_training: `rowhouse train` of DLRM's Criteo-Kaggle shape with one worker and one PS node and
// a cache of a tenth of the bytes of its rows, beside the same with all rows in memory.
//
// The bytes are those of the rows that a run touches; the first run counts them and is not
// measured. Of the other runs the second half is measured, when nearly all their memory has been
// allocated.
//
// tier_training_direct: both runs with --direct_reads, each in a memory cgroup of its own (with the
// worker and the PS node that it starts). Its limit is the cache, or the whole tables for the
// yardstick; memtables and block cache; 256 MB for the worker; and 256 MB for the page cache and
// all else.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/kaggle_shape.h"
#include "launch/bench/memory_limit.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench_tier/tier_rows.h"
#include "ps/store/store_environment.h"

namespace rowhouse {
namespace {

// The model and the cardinalities of bench/dlrm_s_criteo_kaggle.sh; ids as skewed as in click logs.
const std::vector<std::string> kModel = {
    "--arch_sparse_feature_size=16",
    "--arch_mlp_bot=13-512-256-64-16",
    "--arch_mlp_top=512-256-1",
    fmt::format("--arch_embedding_size={}", fmt::join(KaggleTableRows(), "-")),
    "--data_generation=synthetic",
    "--zipf_exponent=1.05",
    "--data_size=393216",
    "--mini_batch_size=2048",
    "--loss_function=bce",
    "--learning_rate=0.1",
    "--print_freq=96",  // half of the steps
};
constexpr uint64_t kTrainedRecordBytes = 16 * sizeof(float) + 16;
constexpr uint64_t kTableRows = 33'762'577;  // of all of --arch_embedding_size
constexpr uint64_t kTrainingMiB = uint64_t{1} << 20;
constexpr uint64_t kWorkerBytes = 256 * kTrainingMiB, kBesideBytes = 256 * kTrainingMiB;
// Above the bytes of all tables: no cache takes more than its table.
constexpr uint64_t kWholeMiB = 4096;
static_assert(kTableRows * kTrainedRecordBytes < kWholeMiB * kTrainingMiB);

class TrainingBench final : public Bench {
 public:
  explicit TrainingBench(bool is_direct) : is_direct_(is_direct) {}

  Status Open() {
    ASSIGN_OR_RETURN(const nlohmann::json report, TrainInMemory());
    uint64_t rows = 0;
    for (const auto& shard : report.at("shards")) rows += shard.at("rows").get<uint64_t>();
    cache_mb_ = std::max<uint64_t>(1, rows * kTrainedRecordBytes / 10 / kTrainingMiB);
    return OkStatus();
  }

  std::string remark() const override { return fmt::format("; the cache has {} MiB", cache_mb_); }
  Result<double> MeasureSystem() override {
    return RateOf(Train(cache_mb_, cache_mb_ * kTrainingMiB));
  }
  Result<double> MeasureYardstick() override { return RateOf(TrainInMemory()); }

 private:
  static Result<double> RateOf(const Result<nlohmann::json>& report) {
    RETURN_IF_ERROR(report.status());
    return report.value().at("curve").at(1).at("samples_per_second").get<double>();
  }

  Result<nlohmann::json> TrainInMemory() {
    return Train(kWholeMiB, kTableRows * kTrainedRecordBytes);
  }

  // A run whose rows take at most `row_bytes` of memory.
  Result<nlohmann::json> Train(uint64_t cache_mb, uint64_t row_bytes) {
    std::unique_ptr<MemoryLimit> limit;
    if (is_direct_) {
      const StoreEnvironmentOptions environment;  // As a PS node has with --cache_mb.
      ASSIGN_OR_RETURN(
          limit, MemoryLimit::Set(row_bytes + environment.memtable_bytes +
                                  environment.block_cache_bytes + kWorkerBytes + kBesideBytes));
    }
    ChildRun run{.flags = kModel, .deadline_ms = UINT32_MAX};
    run.flags.push_back(fmt::format("--cache_mb={}", cache_mb));
    run.flags.push_back(fmt::format("--direct_reads={}", is_direct_));
    return TrainInChild(run);
  }

  const bool is_direct_;
  StopSignal stop_signal_;
  uint64_t cache_mb_ = 0;
};

REGISTER_MEMBER(AddTierBench(
    {.name = "tier_training",
     .what = "Criteo-Kaggle's shape with a tenth in cache, beside all in memory",
     .unit = "samples/s",
     .yardstick = "all rows in memory",
     .target = 0.6},
    [](const BenchOptions&, bool is_direct) { return MakeOpenBench<TrainingBench>(is_direct); }));

}  // namespace
}  // namespace rowhouse
