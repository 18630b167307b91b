// What the cost model says of a run, against the run: rows, bytes and hit rates of real processes.
// Times depend on the machine and are not compared here.
#include <signal.h>

#include <fstream>

#include "tests/mpi/simulated_train.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// All that decides how many rows are touched: kinds, bags, skew, tables that share nothing.
const char* const kTables = R"(
  defaults: {optimizer: adagrad, pooling_sum: exact}
  list:
    - {name: few, rows: 50}
    - {name: plain, rows: 30000}
    - {name: hashed, rows: 60000, kind: hashed, buckets: 6000}
    - {name: block, rows: 40000, kind: block, block_dim: 8}
    - {name: frozen, rows: 20000, freeze: true})";

// Of several tables of rows beside each other: the hottest ids decide which group has how much.
const char* const kGrouped = R"(
  defaults: {optimizer: adagrad, kind: grouped, groups: 4}
  list:
    - {name: few, rows: 50}
    - {name: a, rows: 30000}
    - {name: b, rows: 60000}
    - {name: c, rows: 4000}
    - {name: d, rows: 20000}
    - {name: quotients, rows: 5000, method: qr, share: qr}
    - {name: few_of_qr, rows: 90, method: qr, share: qr}
    - {name: whole, rows: 9000, mode: greedy, groups: 2, share: whole}
    - {name: whole_too, rows: 700, mode: greedy, groups: 2, share: whole}
    - {name: mixed, kind: mixed, rows: 30000}
    - {name: mixed_few, kind: mixed, rows: 300})";

struct PredictedCase {
  std::string name;
  uint32_t ps = 1, workers = 1;
  std::vector<std::string> flags;
  double hit_rate_within = 0.005;
  double node_bytes_within = 0.02;
  std::string tables = kTables;
};

class PredictedRun : public testing::Test {
 protected:
  std::string WriteConfig(const std::string& tables = kTables) const {
    const std::string path = dir_ / "tables.yaml";
    std::ofstream(path) << R"(
model: {arch_mlp_bot: [4, 16], arch_mlp_top: [8, 1], arch_sparse_feature_size: 16,
        loss_function: bce}
tables:)" << tables << R"(
data: {data_generation: synthetic, data_size: 20480, synthetic_bag_length: 8,
       synthetic_bag_fixed: false, zipf_exponent: 1.05}
training: {mini_batch_size: 512, learning_rate: 0.02, print_freq: -1}
)";
    return path;
  }

  TempDir dir_;
};

class PredictionUnderMpirun : public PredictedRun,
                              public testing::WithParamInterface<PredictedCase> {};

void ExpectNear(const json& pair, double part) {
  const double predicted = pair.at("predicted"), actual = pair.at("actual");
  EXPECT_NEAR(predicted, actual, part * actual);
}

TEST_P(PredictionUnderMpirun, HasTheBytesAndRowsOfTheRun) {
  const PredictedCase& one = GetParam();
  std::vector<std::string> flags = {"--config=" + WriteConfig(one.tables), "--calibration=typical",
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
    ExpectNear(node.at("bytes"), one.node_bytes_within);
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

// Runs that end early or have nothing to do, of one worker and one PS node.
class PredictionOfShortRuns : public PredictedRun {
 protected:
  std::vector<std::string> Flags(std::vector<std::string> more) const {
    std::vector<std::string> flags = {"--config=" + WriteConfig(), "--calibration=typical",
                                      "--model_dir=" + dir_ / "model",
                                      "--row_dir=" + dir_ / "rows"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  TrainResult TrainIt(std::vector<std::string> more) const {
    return Train({.flags = Flags(std::move(more))});
  }
};

void ExpectCountsAreNear(const json& prediction, double part) {
  ExpectNear(prediction.at("wire_bytes_per_step"), part);
  for (const json& node : prediction.at("ps_nodes")) {
    ExpectNear(node.at("rows_pulled"), part);
    ExpectNear(node.at("bytes"), part);
  }
}

void ExpectHitRatesAreNear(const json& prediction, double within) {
  for (const json& node : prediction.at("ps_nodes")) {
    const json& rate = node.at("hit_rate");
    EXPECT_NEAR(rate.at("predicted").get<double>(), rate.at("actual").get<double>(), within);
  }
}

TEST_F(PredictionOfShortRuns, OfOneStepHasItsRowsAndSaysThatItsTimeIsTheFirst) {
  const TrainResult one = TrainIt({"--stop_after_steps=1"});
  ASSERT_EQ(one.exit_code, 0) << one.Describe();
  EXPECT_THAT(one.out, HasSubstr("\n  only 1 step: the first steps of a run are slower"));
  EXPECT_EQ(one.report.at("prediction").at("steps"), 1);
  ExpectCountsAreNear(one.report.at("prediction"), 0.05);  // of one step: chance
  ExpectHitRatesAreNear(one.report.at("prediction"), 0.02);
}

TEST_F(PredictionOfShortRuns, OfAStepOfFewerSamplesIsOfThese) {
  const TrainResult one = TrainIt({"--data_size=100"});
  ASSERT_EQ(one.exit_code, 0) << one.Describe();
  const json& prediction = one.report.at("prediction");
  EXPECT_EQ(prediction.at("steps"), 1);
  ExpectNear(prediction.at("wire_bytes_per_step"), 0.05);  // of few rows: chance
  ExpectNear(prediction.at("ps_nodes").at(0).at("rows_pulled"), 0.05);
}

TEST_F(PredictionOfShortRuns, OfARunThatGoesOnIsOfItsOwnSteps) {
  const TrainResult first = TrainIt({"--stop_after_steps=15"});
  ASSERT_EQ(first.exit_code, 0) << first.Describe();
  const TrainResult second = TrainIt({"--load", "--nepochs=1"});
  ASSERT_EQ(second.exit_code, 0) << second.Describe();
  EXPECT_EQ(second.report.at("totals").at("first_step"), 15);
  EXPECT_EQ(second.report.at("prediction").at("steps"), 25);
  ExpectCountsAreNear(second.report.at("prediction"), 0.02);

  const TrainResult nothing = TrainIt({"--load", "--nepochs=1"});
  ASSERT_EQ(nothing.exit_code, 0) << nothing.Describe();
  EXPECT_THAT(nothing.out, HasSubstr("nothing was left to train"));
  EXPECT_THAT(nothing.out, testing::Not(HasSubstr("predicted / actual")));
}

// Without reading ahead: else it is chance whether a row of the loaded model is there when its pull
// comes.
TEST_F(PredictionOfShortRuns, OfARunThatGoesOnHasItsHits) {
  const TrainResult first = TrainIt({"--stop_after_steps=15", "--prefetch_steps=0"});
  ASSERT_EQ(first.exit_code, 0) << first.Describe();
  const TrainResult second = TrainIt({"--load", "--nepochs=1", "--prefetch_steps=0"});
  ASSERT_EQ(second.exit_code, 0) << second.Describe();
  ExpectCountsAreNear(second.report.at("prediction"), 0.02);
  ExpectHitRatesAreNear(second.report.at("prediction"), 0.005);
}

TEST_F(PredictionOfShortRuns, OfARunStoppedByCtrlCIsOfTheStepsItDid) {
  Command command{.arguments = {ROWHOUSE_BINARY, "train"}};
  for (const std::string& flag : Flags({"--data_size=600000000", "--print_freq=10"})) {
    command.arguments.push_back(flag);
  }
  Process process(command);
  ASSERT_TRUE(process.WaitForOutput("training it 20/")) << process.Wait().Describe();
  process.Signal(SIGINT);
  const ProcessResult result = process.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("predicted / actual: step "));
  const json report = json::parse(std::ifstream(dir_ / "model/report.json"));
  EXPECT_EQ(report.at("prediction").at("steps"), report.at("totals").at("steps"));
  ExpectCountsAreNear(report.at("prediction"), 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    All, PredictionUnderMpirun,
    testing::Values(PredictedCase{"Alone", 1, 1, {}}, PredictedCase{"TwoNodesTwoWorkers", 2, 2, {}},
                    PredictedCase{
                        "RowsInBf16", 2, 2, {"--pull_precision=bf16", "--push_precision=bf16"}},
                    PredictedCase{"ColumnsOnThreeNodes", 3, 1, {"--strategy=grid"}, 0.005, 0.04},
                    PredictedCase{"WholeTables", 2, 1, {"--strategy=table_wise_lpt", "--shards=2"}},
                    PredictedCase{"BagsOnShards", 2, 2, {"--pool_on=shards"}, 0.005, 0.05},
                    PredictedCase{"SmallCaches",
                                  1,
                                  1,
                                  {"--cache_mb=1", "--cache_policy=lru", "--prefetch_steps=0"},
                                  0.02},
                    PredictedCase{"Grouped", 1, 1, {}, 0.01, 0.02, kGrouped},
                    PredictedCase{"GroupedWholeTables",
                                  2,
                                  2,
                                  {"--strategy=table_wise_lpt", "--shards=2"},
                                  0.01,
                                  0.03,
                                  kGrouped},
                    PredictedCase{"GroupedInSmallCaches",
                                  1,
                                  1,
                                  {"--cache_mb=1", "--cache_policy=lru", "--prefetch_steps=0"},
                                  0.03,
                                  0.02,
                                  kGrouped}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
