// What the cost model says of a run, against the run: rows, bytes and hit rates of real processes.
// Times depend on the machine and are not compared here.
#include <fstream>

#include "tests/mpi/simulated_train.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct PredictedCase {
  std::string name;
  uint32_t ps = 1, workers = 1;
  std::vector<std::string> flags;
  double hit_rate_within = 0.005;
};

class PredictionUnderMpirun : public testing::TestWithParam<PredictedCase> {
 protected:
  // All that decides how many rows are touched: kinds, bags, skew, tables that share nothing.
  std::string WriteConfig() const {
    const std::string path = dir_ / "tables.yaml";
    std::ofstream(path) << R"(
model: {arch_mlp_bot: [4, 16], arch_mlp_top: [8, 1], arch_sparse_feature_size: 16,
        loss_function: bce}
tables:
  defaults: {optimizer: adagrad, pooling_sum: exact}
  list:
    - {name: few, rows: 50}
    - {name: plain, rows: 30000}
    - {name: hashed, rows: 60000, kind: hashed, buckets: 6000}
    - {name: block, rows: 40000, kind: block, block_dim: 8}
    - {name: frozen, rows: 20000, freeze: true}
data: {data_generation: synthetic, data_size: 20480, synthetic_bag_length: 8,
       synthetic_bag_fixed: false, zipf_exponent: 1.05}
training: {mini_batch_size: 512, learning_rate: 0.02, print_freq: -1}
)";
    return path;
  }

  TempDir dir_;
};

void ExpectNear(const json& pair, double part) {
  const double predicted = pair.at("predicted"), actual = pair.at("actual");
  EXPECT_NEAR(predicted, actual, part * actual);
}

TEST_P(PredictionUnderMpirun, HasTheBytesAndRowsOfTheRun) {
  const PredictedCase& one = GetParam();
  std::vector<std::string> flags = {"--config=" + WriteConfig(), "--calibration=typical",
                                    fmt::format("--ps={}", one.ps), "--row_dir=" + dir_ / "rows"};
  flags.insert(flags.end(), one.flags.begin(), one.flags.end());
  const TrainResult result = Train({.ranks = one.ps + one.workers, .flags = flags});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("predicted / actual: step "));
  const json& prediction = result.report.at("prediction");
  ExpectNear(prediction.at("wire_bytes_per_step"), 0.02);
  ASSERT_EQ(prediction.at("ps_nodes").size(), one.ps);
  // Which node has the hot rows of such small tables is chance.
  double bytes = 0;
  for (const json& node : prediction.at("ps_nodes")) {
    ExpectNear(node.at("rows_pulled"), 0.05);
    ExpectNear(node.at("bytes"), 0.05);
    bytes += node.at("bytes").at("actual").get<double>();
    EXPECT_GT(node.at("busy_ms").at("actual").get<double>(), 0.0);
    EXPECT_THAT(result.out, HasSubstr("\n  " + node.at("name").get<std::string>() + ": "));
  }
  const double all_bytes = prediction.at("wire_bytes_per_step").at("actual");
  EXPECT_NEAR(bytes, all_bytes, 1e-9 * all_bytes) << "every byte is some node's";
  ASSERT_EQ(prediction.at("workers").size(), one.workers);
  for (const json& worker : prediction.at("workers")) {
    EXPECT_GT(worker.at("step_ms").at("actual").get<double>(), 0.0);
    EXPECT_THAT(result.out, HasSubstr("\n  " + worker.at("name").get<std::string>() + ": step "));
  }
  for (const json& table : prediction.at("tables")) ExpectNear(table.at("rows_pulled"), 0.02);
  const json& hit_rate = prediction.at("hit_rate");
  EXPECT_NEAR(hit_rate.at("predicted").get<double>(), hit_rate.at("actual").get<double>(),
              one.hit_rate_within);
  double phases = 0;
  for (const json& phase : prediction.at("phases_ms"))
    phases += phase.at("predicted").get<double>();
  EXPECT_NEAR(phases, prediction.at("step_ms").at("predicted").get<double>(), 1e-6 * phases);
}

INSTANTIATE_TEST_SUITE_P(
    All, PredictionUnderMpirun,
    testing::Values(PredictedCase{"Alone", 1, 1, {}}, PredictedCase{"TwoNodesTwoWorkers", 2, 2, {}},
                    PredictedCase{"ColumnsOnThreeNodes", 3, 1, {"--strategy=grid"}},
                    PredictedCase{"WholeTables", 2, 1, {"--strategy=table_wise_lpt", "--shards=2"}},
                    PredictedCase{"BagsOnShards", 2, 2, {"--pool_on=shards"}},
                    PredictedCase{"SmallCaches",
                                  1,
                                  1,
                                  {"--cache_mb=1", "--cache_policy=lru", "--prefetch_steps=0"},
                                  0.02}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
