// tier_training: DLRM's Criteo-Kaggle shape trained with a cache of a tenth of the bytes its rows
// take, beside all of them in memory: `rowhouse train` as it stands, one worker and one PS node.
//
// Rows that were never touched are in nobody's way, so the bytes are those of the rows that a run
// touches: the first run counts them, and is not measured. Of the others the second half is, when
// as good as all the memory they will use has been given to them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "launch/bench/bench.h"
#include "launch/bench/stop_signal.h"
#include "launch/temporary_rows.h"

extern char** environ;

namespace rowhouse {
namespace {

// The model and the cardinalities of bench/dlrm_s_criteo_kaggle.sh; ids as skewed as in click logs.
const std::vector<std::string> kModel = {
    "--arch_sparse_feature_size=16",
    "--arch_mlp_bot=13-512-256-64-16",
    "--arch_mlp_top=512-256-1",
    "--arch_embedding_size=1460-583-10131227-2202608-305-24-12517-633-3-93145-5683-8351593-3194-27-"
    "14992-5461306-10-5652-2173-4-7046547-18-15-286181-105-142572",
    "--data_generation=synthetic",
    "--zipf_exponent=1.05",
    "--data_size=393216",
    "--mini_batch_size=2048",
    "--loss_function=bce",
    "--learning_rate=0.1",
    "--print_freq=96",  // half of the steps
};
constexpr uint64_t kRecordBytes = 16 * sizeof(float) + 16;

class TrainingBench final : public Bench {
 public:
  static Result<std::unique_ptr<Bench>> Make(const BenchOptions&) {
    auto bench = std::make_unique<TrainingBench>();
    ASSIGN_OR_RETURN(bench->directory_, TemporaryRows::Make());
    ASSIGN_OR_RETURN(const nlohmann::json report, bench->Train("--cache_mb=4096"));
    uint64_t rows = 0;
    for (const auto& shard : report.at("shards")) rows += shard.at("rows").get<uint64_t>();
    bench->cache_mb_ = std::max<uint64_t>(1, rows * kRecordBytes / 10 >> 20);
    return std::unique_ptr<Bench>(std::move(bench));
  }

  std::string unit() const override { return "samples/s"; }
  std::string yardstick() const override {
    return fmt::format("all rows in memory; the cache has {} MiB", cache_mb_);
  }
  std::optional<double> target() const override { return 0.6; }
  Result<double> MeasureSystem() override {
    return RateOf(Train(fmt::format("--cache_mb={}", cache_mb_)));
  }
  Result<double> MeasureYardstick() override { return RateOf(Train("--cache_mb=4096")); }

 private:
  static Result<double> RateOf(const Result<nlohmann::json>& report) {
    RETURN_IF_ERROR(report.status());
    return report.value().at("curve").at(1).at("samples_per_second").get<double>();
  }

  Result<nlohmann::json> Train(const std::string& cache) {
    RETURN_IF_ERROR(StopSignal::Check());
    const std::string report = directory_->path() + "/report.json";
    std::vector<std::string> arguments = {"rowhouse", "train"};
    arguments.insert(arguments.end(), kModel.begin(), kModel.end());
    arguments.push_back(cache);
    arguments.push_back("--report=" + report);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, "/proc/self/exe", &quiet, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error != 0) return StatusFromErrno(error, "start", "/proc/self/exe");
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return MakeStatus(StatusCode::kInternal, "rowhouse train ended with wait status {}", status);
    }
    ASSIGN_OR_RETURN(const std::string text, ReadFile(report));
    return nlohmann::json::parse(text);
  }

  StopSignal stop_signal_;
  std::unique_ptr<TemporaryRows> directory_;
  uint64_t cache_mb_ = 0;
};

const bool kRegistered = Benches().Add("tier_training", &TrainingBench::Make);

}  // namespace
}  // namespace rowhouse
