// What `rowhouse plan --sizes` predicts of a PS node, beside what one takes: peak resident memory
// (VmHWM) and bytes of files. Runs are as small as makes the rows, not the process, most of it.
#include <filesystem>
#include <fstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

// Peak resident memory of a process.
double PeakBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
  }
  return 0;
}

double BytesOfFilesBelow(const std::string& directory) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

struct Sizes {
  double memory = 0, disk = 0;
};

const Flags kSizePredictionModel = {
    "--arch_mlp_top=64-1",         "--loss_function=bce", "--learning_rate=0.02",
    "--data_generation=synthetic", "--zipf_exponent=0",
};
const Flags kWideRows = {"--arch_sparse_feature_size=64", "--arch_mlp_bot=13-64",
                         "--mini_batch_size=16384", "--data_size=600000"};

// `memory`: the flag of what a PS node may take; `run`: those of the tables and samples.
void Measure(const std::string& memory, const Flags& run, Sizes* sizes) {
  const TempDir dir;
  Process server({.arguments = {ROWHOUSE_BINARY, "ps", "--listen=tcp://127.0.0.1:0",
                                "--row_dir=" + (dir / "rows"), memory},
                  .time_limit = std::chrono::minutes(2)});
  ASSERT_TRUE(server.WaitForOutput("listening on"));
  const std::string output = server.Output();
  const size_t begin = output.find("tcp://");
  Flags train = {
      ROWHOUSE_BINARY, "train", "--print_freq=-1",
      "--ps_endpoints=" + output.substr(begin, output.find_first_of("; \n", begin) - begin)};
  train.insert(train.end(), kSizePredictionModel.begin(), kSizePredictionModel.end());
  train.insert(train.end(), run.begin(), run.end());
  const ProcessResult trained =
      RunCommand({.arguments = train, .time_limit = std::chrono::minutes(2)});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  *sizes = {.memory = PeakBytes(server.pid()), .disk = BytesOfFilesBelow(dir / "rows")};
}

void PredictSizePrediction(const std::string& memory, const Flags& run, Sizes* sizes) {
  Flags plan = {ROWHOUSE_BINARY, "plan", "--sizes", "--json", "--touched_rows=run", memory};
  plan.insert(plan.end(), kSizePredictionModel.begin(), kSizePredictionModel.end());
  plan.insert(plan.end(), run.begin(), run.end());
  const ProcessResult planned = RunCommand({.arguments = plan});
  ASSERT_EQ(planned.exit_code, 0) << planned.Describe();
  const auto node = nlohmann::json::parse(planned.out)["ps_nodes"]["nodes"][0];
  *sizes = {.memory = node["memory"]["total_bytes"], .disk = node["disk"]["compacted_bytes"]};
}

void MeasureAndPredict(const std::string& memory, const Flags& run, Sizes* measured,
                       Sizes* predicted) {
  ASSERT_NO_FATAL_FAILURE(Measure(memory, run, measured));
  ASSERT_NO_FATAL_FAILURE(PredictSizePrediction(memory, run, predicted));
}

// Of --memory_limit_mb=192; how full memtables and queues become depends on the disk.
void ExpectWithinTheLimit(const Sizes& measured, const Sizes& predicted) {
  EXPECT_LT(measured.memory, uint64_t{192} << 20);
  EXPECT_NEAR(predicted.memory / measured.memory, 1.0, 0.2)
      << predicted.memory << " " << measured.memory;
}

Flags WideRows(const std::string& tables) {
  Flags run = kWideRows;
  run.push_back("--arch_embedding_size=" + tables);
  return run;
}

TEST(SizePrediction, OfRowsInMemoryIsWithin10Percent) {
  const std::string memory = "--cache_mb=1024";
  const Flags rows = WideRows("300000-300000-300000");
  Sizes measured, predicted;
  ASSERT_NO_FATAL_FAILURE(MeasureAndPredict(memory, rows, &measured, &predicted));
  EXPECT_NEAR(predicted.memory / measured.memory, 1.0, 0.1)
      << predicted.memory << " " << measured.memory;
  EXPECT_NEAR(predicted.disk / measured.disk, 1.0, 0.1) << predicted.disk << " " << measured.disk;
}

// How full memtables and queues become depends on the disk; rows that are rewritten lie in files
// more than once until they are compacted. So of files no more is asked than the worst moment.
TEST(SizePrediction, OfRowsOnDiskUnderALimitIsClose) {
  const std::string memory = "--memory_limit_mb=192";
  const Flags rows = WideRows("400000-400000-400000");
  Sizes measured, predicted;
  ASSERT_NO_FATAL_FAILURE(MeasureAndPredict(memory, rows, &measured, &predicted));
  ExpectWithinTheLimit(measured, predicted);
  EXPECT_GT(measured.disk, 0.95 * predicted.disk);
  EXPECT_LT(measured.disk, 2.1 * predicted.disk);
}

// What each table and each shard takes beside rows must not grow beyond the limit.
TEST(SizePrediction, OfManyTablesOnManyShardsUnderALimitIsClose) {
  std::string tables = "40000";
  for (int i = 1; i < 26; ++i) tables += "-40000";
  const std::string memory = "--memory_limit_mb=192";
  const Flags rows = {"--arch_sparse_feature_size=16",   "--arch_mlp_bot=13-16",
                      "--mini_batch_size=1024",          "--data_size=60000",
                      "--arch_embedding_size=" + tables, "--shards=8"};
  Sizes measured, predicted;
  ASSERT_NO_FATAL_FAILURE(MeasureAndPredict(memory, rows, &measured, &predicted));
  ExpectWithinTheLimit(measured, predicted);
}

}  // namespace
}  // namespace rowhouse
