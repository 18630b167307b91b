// Sharding strategies through real processes: each trains tables of all kinds to the bits of one
// shard, on any number of PS nodes, shards and workers; goes on from what it saved; and plans and
// counts travel as files. TheCasesCoverEveryPair proves that a few runs meet each strategy with
// each of the rest.
#include <array>
#include <fstream>
#include <map>

#include "sharding/plans/plan_load.h"
#include "sharding/plans/strategy.h"
#include "tests/mpi/all_kinds_model.h"
#include "tests/mpi/simulated_train.h"
#include "tests/testing/covering_cases.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::array kStrategiesPsNodes = {1u, 2u, 3u};
constexpr std::array kStrategiesShards = {1u, 2u};
constexpr std::array kStrategiesWorkers = {1u, 2u, 3u};
constexpr std::array kStrategiesOptimizers = {"sgd", "adagrad", "adam"};

constexpr std::array kPooled = {"workers", "shards"};

enum StrategiesFactor {
  kStrategy,
  kStrategiesPs,
  kStrategiesShard,
  kStrategiesWorker,
  kStrategiesOptimizer,
  kPoolOn
};

const std::string& StrategyOf(const FactorLevels& c) {
  static const std::vector<std::string> names = ShardingStrategies().Names();
  return names[c[kStrategy]];
}

// All but what there is not: with every table on the workers, shards have nothing to pool.
std::vector<FactorLevels> PossibleCases() {
  std::vector<FactorLevels> cases = AllCases(
      {ShardingStrategies().Names().size(), kStrategiesPsNodes.size(), kStrategiesShards.size(),
       kStrategiesWorkers.size(), kStrategiesOptimizers.size(), kPooled.size()});
  std::erase_if(cases, [](const FactorLevels& c) {
    return StrategyOf(c) == "replicated" && kPooled[c[kPoolOn]] == std::string("shards");
  });
  return cases;
}

std::vector<FactorLevels> StrategyCases() {
  return CoveringCases({}, PossibleCases(), /*strength=*/2);
}

std::string StrategiesName(const FactorLevels& c) {
  return fmt::format("{} PS {} shards {} workers {} {} pool_on {}", StrategyOf(c),
                     kStrategiesPsNodes[c[kStrategiesPs]], kStrategiesShards[c[kStrategiesShard]],
                     kStrategiesWorkers[c[kStrategiesWorker]],
                     kStrategiesOptimizers[c[kStrategiesOptimizer]], kPooled[c[kPoolOn]]);
}

TEST(Strategies, TheCasesCoverEveryPair) {
  const std::vector<FactorLevels> cases = StrategyCases();
  for (const FactorLevels& c : cases) fmt::print("{}\n", StrategiesName(c));
  EXPECT_EQ(CombinationsOfAll(cases, 2), CombinationsOfAll(PossibleCases(), 2));
  // No fewer can meet each strategy with three numbers of PS nodes.
  EXPECT_LE(cases.size(), 3 * ShardingStrategies().Names().size());
}

ProcessResult RunPlanStrategies(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {ROWHOUSE_BINARY, "plan"});
  return RunCommand({.arguments = std::move(flags)});
}

json ReadJson(const std::string& path) { return json::parse(std::ifstream(path)); }

// The largest over the mean of rows pulled from the shards.
double PullsMaxOverMean(const TrainResult& result) {
  std::vector<double> pulls;
  for (const json& shard : result.report.at("shards")) pulls.push_back(shard.at("rows_pulled"));
  return MaxOverMean(pulls);
}

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()
#define EXPECT_REFUSED(result, words)                      \
  do {                                                     \
    const ProcessResult refused = (result);                \
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe(); \
    EXPECT_THAT(refused.err, words);                       \
  } while (false)

class StrategiesUnderMpirun : public testing::TestWithParam<std::string> {
 protected:
  // Counts of the model's ids, which skew_aware needs.
  std::string Count(const std::string& config) {
    const ProcessResult result =
        RunPlanStrategies({"--config=" + config, "--count_ids", "--out=" + dir_ / "counts.json"});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return dir_ / "counts.json";
  }

  TempDir dir_;
};

TEST_P(StrategiesUnderMpirun, TrainAllKindsToTheBitsOfTheSimulatedCluster) {
  for (const FactorLevels& c : StrategyCases()) {
    if (StrategyOf(c) != GetParam()) continue;
    SCOPED_TRACE(StrategiesName(c));
    const std::string pool_on = kPooled[c[kPoolOn]];
    const std::string config =
        WriteAllKindsYaml(dir_ / "wide.yaml", kStrategiesOptimizers[c[kStrategiesOptimizer]],
                          c[kStrategiesWorker], kWideDim, pool_on == "shards");
    std::vector<std::string> flags = {
        "--config=" + config,
        "--strategy=" + GetParam(),
        "--pool_on=" + pool_on,
        fmt::format("--ps={}", kStrategiesPsNodes[c[kStrategiesPs]]),
        fmt::format("--shards={}", kStrategiesShards[c[kStrategiesShard]]),
        "--cache_ratio=0.05",
        "--rpc_deadline_ms=40000"};
    if (GetParam() == "skew_aware") {
      flags.insert(flags.end(), {"--hot_rows=20", "--access_counts=" + Count(config)});
    }
    const TrainResult result = Train(
        {.ranks = kStrategiesPsNodes[c[kStrategiesPs]] + kStrategiesWorkers[c[kStrategiesWorker]],
         .flags = flags});
    ASSERT_TRAINED(result);
    ASSERT_EQ(result.losses.size(), kAllKindsSteps) << result.Describe();
    const TrainResult simulated = SimulateTrain(
        {"--config=" + config}, {.workers = kStrategiesWorkers[c[kStrategiesWorker]]});
    EXPECT_EQ(result.losses, simulated.losses);
    EXPECT_EQ(result.digest, simulated.digest);
    EXPECT_NE(result.losses.front(), result.losses.back());
  }
}

INSTANTIATE_TEST_SUITE_P(All, StrategiesUnderMpirun,
                         testing::ValuesIn(ShardingStrategies().Names()),
                         [](const auto& test) { return test.param; });

// ---- Going on -----------------------------------------------------------------------------------

class StrategiesLoaded : public testing::Test {
 protected:
  TrainResult TrainIn(const std::string& model, const std::string& rows,
                      const std::string& strategy, std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--config=" + config_, "--strategy=" + strategy, "--ps=2", "--shards=2",
                  "--model_dir=" + dir_ / model, "--row_dir=" + dir_ / rows});
    return Train({.ranks = 4, .flags = std::move(flags)});
  }

  const TempDir dir_;
  const std::string config_ = WriteAllKindsYaml(dir_ / "wide.yaml", "adagrad", 0, kWideDim);
};

TEST_F(StrategiesLoaded, PartsAreTheRunThatNeverStoppedWhereverTheRowsLie) {
  const TrainResult whole = TrainIn("whole", "whole_rows", "row_wise", {});
  ASSERT_TRAINED(whole);
  std::vector<double> losses;
  std::string digest;
  // The same twice, then others, routed anew.
  for (const auto& part :
       {TrainIn("parts", "rows", "row_wise_hashed", {"--stop_after_steps=4"}),
        TrainIn("parts", "rows", "row_wise_hashed", {"--load", "--stop_after_steps=5"}),
        TrainIn("parts", "rows_2", "table_wise_lpt", {"--load", "--stop_after_steps=4"}),
        TrainIn("parts", "rows_3", "fair", {"--load"})}) {
    ASSERT_TRAINED(part);
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    digest = part.digest;
  }
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(digest, whole.digest);
}

TEST_F(StrategiesLoaded, RowsFollowToAnotherRowDirectoryAlone) {
  const TrainResult whole = TrainIn("whole", "whole_rows", "row_wise", {});
  ASSERT_TRAINED(whole);
  const TrainResult first = TrainIn("cut", "rows", "column_wise", {"--stop_after_steps=7"});
  ASSERT_TRAINED(first);
  EXPECT_REFUSED(TrainIn("cut", "rows", "grid", {"--load"}), HasSubstr("--row_dir"));
  // Nothing of that has harmed it. Columns are joined, and cut anew; rows go to the workers and
  // back.
  const TrainResult joined =
      TrainIn("cut", "rows_2", "row_wise", {"--load", "--stop_after_steps=3"});
  ASSERT_TRAINED(joined);
  const TrainResult there =
      TrainIn("cut", "rows_3", "replicated", {"--load", "--stop_after_steps=2"});
  ASSERT_TRAINED(there);
  const TrainResult rest = TrainIn("cut", "rows_4", "grid", {"--load"});
  ASSERT_TRAINED(rest);
  std::vector<double> losses = first.losses;
  for (const TrainResult* part : {&joined, &there, &rest}) {
    losses.insert(losses.end(), part->losses.begin(), part->losses.end());
  }
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(rest.digest, whole.digest);
}

// ---- Plans and counts as files ------------------------------------------------------------------

// Zipf ids, numbered by no rank; bags of one id.
constexpr const char* kSkewed = R"(
model: {arch_mlp_bot: [5, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8,
        loss_function: bce}
data: {data_generation: synthetic, data_size: 6000, zipf_exponent: 1.3}
training: {mini_batch_size: 60, learning_rate: 0.05, optimizer: adagrad, print_freq: 1}
tables:
  list:
  - {name: large, rows: 20000}
  - {name: medium, rows: 900, kind: qr, collisions: 30, remainder: workers}
  - {name: small, rows: 60, padding_id: 3, bad_ids: padding}
)";

class PlanFiles : public testing::Test {
 protected:
  PlanFiles() { std::ofstream(config_) << kSkewed; }

  // On 2 PS nodes of 2 shards.
  TrainResult TrainOn(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--config=" + config_, "--ps=2", "--shards=2"});
    return Train({.ranks = 4, .flags = std::move(flags)});
  }

  // Prints to nowhere; the file's name.
  std::string PlanTo(const std::string& name, std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--config=" + config_, "--ps=2", "--shards=2", "--out=" + dir_ / name});
    const ProcessResult result = RunPlanStrategies(std::move(flags));
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return dir_ / name;
  }

  const TempDir dir_;
  const std::string config_ = dir_ / "skewed.yaml";
};

TEST_F(PlanFiles, RouteARunAsTheStrategyDoesThatMadeThem) {
  const TrainResult by_name = TrainOn({"--strategy=grid"});
  ASSERT_TRAINED(by_name);
  const std::string plan = PlanTo("plan.json", {"--strategy=grid"});
  const TrainResult by_file = TrainOn({"--plan=" + plan, "--model_dir=" + dir_ / "model"});
  ASSERT_TRAINED(by_file);
  EXPECT_EQ(by_file.losses, by_name.losses);
  EXPECT_EQ(by_file.digest, by_name.digest);
  for (size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(by_file.report["shards"][s]["rows_pulled"],
              by_name.report["shards"][s]["rows_pulled"]);
  }
  const ProcessResult read = RunPlanStrategies({"--config=" + config_, "--plan=" + plan, "--json"});
  EXPECT_EQ(read.out, std::string(std::istreambuf_iterator<char>(std::ifstream(plan).rdbuf()), {}));
  // Going on: by the same file, not by another.
  const TrainResult more =
      TrainOn({"--plan=" + plan, "--model_dir=" + dir_ / "model", "--load", "--nepochs=2"});
  ASSERT_TRAINED(more);
  EXPECT_EQ(more.losses.size(), by_name.losses.size());
  const std::string other = PlanTo("other.json", {"--strategy=table_wise_lpt"});
  EXPECT_REFUSED(
      TrainOn({"--plan=" + other, "--model_dir=" + dir_ / "model", "--load", "--nepochs=3"}),
      HasSubstr("--row_dir"));
}

// On 2 PS nodes, of which the second can hold three times as much.
TEST_F(PlanFiles, CapacitiesOfNodesDecideWhatTheyHold) {
  const TrainResult even = TrainOn({});
  const TrainResult weighed = TrainOn({"--capacities=1,3", "--strategy=row_wise_hashed"});
  ASSERT_TRAINED(even);
  ASSERT_TRAINED(weighed);
  EXPECT_EQ(weighed.losses, even.losses);
  EXPECT_EQ(weighed.digest, even.digest);
  const json& nodes = weighed.report["sharding"]["ps_nodes"];
  EXPECT_NEAR(nodes[1]["placed_bytes"].get<double>(), 3 * nodes[0]["placed_bytes"].get<double>(),
              0.01 * nodes[1]["placed_bytes"].get<double>());
  EXPECT_REFUSED(TrainOn({"--capacities=1,2,3"}), HasSubstr("3 weights for 2 PS nodes"));
  EXPECT_REFUSED(TrainOn({"--capacities=1,2", "--strategy=grid"}),
                 HasSubstr("strategy grid has no use for it"));
}

// As the README says.
TEST_F(PlanFiles, SayWhatTheShardsGetAndTheBytesOfAStep) {
  const ProcessResult printed =
      RunPlanStrategies({"--config=" + config_, "--ps=2", "--shards=2", "--strategy=row_wise"});
  ASSERT_EQ(printed.exit_code, 0) << printed.Describe();
  EXPECT_THAT(printed.out,
              AllOf(HasSubstr("row_wise: 4 tables on 2 PS nodes of 2 shards; "),
                    HasSubstr("\nPS node  shard "), HasSubstr("max/mean: bytes "),
                    HasSubstr("\nOn the wire in a step of one worker:\n"),
                    HasSubstr("Bytes a step between workers and shards, estimated: ")));
  for (const char* table : {"\nlarge ", "\nmedium.quotient ", "\nsmall "}) {
    EXPECT_THAT(printed.out.substr(printed.out.find("On the wire")), HasSubstr(table));
  }
}

// Of one worker, an epoch: ids counted beforehand are what shards and workers counted.
TEST_F(PlanFiles, CountsAreWhatTheShardsCounted) {
  const std::string counts = PlanTo("counts.json", {"--count_ids"});
  const TrainResult run = Train(
      {.ranks = 3,
       .flags = {"--config=" + config_, "--ps=2", "--shards=2", "--model_dir=" + dir_ / "model"}});
  ASSERT_TRAINED(run);
  const ProcessResult printed = RunPlanStrategies({"--config=" + config_, "--count_ids"});
  EXPECT_THAT(printed.out, AllOf(HasSubstr("6,000 samples"), HasSubstr("medium.remainder")));
  // Column "rows pulled" of tables on shards.
  uint64_t pulled = 0;
  std::istringstream lines(printed.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> columns(std::istream_iterator<std::string>(words), {});
    if (columns.size() < 6 || columns[0] == "table" || columns[0] == "medium.remainder") continue;
    std::erase(columns[4], ',');
    pulled += std::stoull(columns[4]);
  }
  EXPECT_EQ(pulled, run.OverShards("rows_pulled"));

  // The plan from counts and that from the model's records are one.
  const std::string from_counts =
      PlanTo("by_counts.json", {"--strategy=skew_aware", "--access_counts=" + counts});
  const std::string from_rows = PlanTo("by_rows.json", {"--measured=" + dir_ / "model"});
  EXPECT_EQ(ReadJson(from_counts), ReadJson(from_rows));
}

TEST_F(PlanFiles, MadeFromTheLastRunsLoadBalanceTheNext) {
  const TrainResult first = TrainOn({"--strategy=row_wise", "--model_dir=" + dir_ / "first"});
  ASSERT_TRAINED(first);
  const std::string plan = PlanTo("plan.json", {"--measured=" + dir_ / "first"});
  EXPECT_EQ(ReadJson(plan).at("strategy"), "skew_aware");
  const TrainResult second = TrainOn({"--plan=" + plan, "--model_dir=" + dir_ / "second"});
  ASSERT_TRAINED(second);
  EXPECT_EQ(second.losses, first.losses);
  EXPECT_EQ(second.digest, first.digest);
  EXPECT_LT(PullsMaxOverMean(second), 0.9 * PullsMaxOverMean(first));
  fmt::print("rows pulled, max/mean: row_wise {:.3f}, measured {:.3f}\n", PullsMaxOverMean(first),
             PullsMaxOverMean(second));
  // Rows on the workers are counted as well: from the second run the same plan comes out. Its own
  // config says what it needs.
  const ProcessResult again =
      RunPlanStrategies({"--measured=" + dir_ / "second", "--out=" + dir_ / "again.json"});
  ASSERT_EQ(again.exit_code, 0) << again.Describe();
  EXPECT_EQ(ReadJson(dir_ / "again.json"), ReadJson(plan));
}

// Of a model whose bags the shards pooled: they do so by the new plan, too, or it says what to say.
TEST_F(PlanFiles, MadeFromARunThatPooledOnShardsPoolThere) {
  const std::string model = R"(
model: {arch_mlp_bot: [5, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8,
        loss_function: bce}
data: {data_generation: synthetic, data_size: 3000, zipf_exponent: 1.3, synthetic_bag_length: 4}
training: {mini_batch_size: 60, learning_rate: 0.05}
cluster: {pool_on: shards, ps: 2, shards: 2}
)";
  std::ofstream(dir_ / "exact.yaml")
      << model << "tables: {defaults: {pooling_sum: exact}, rows: [20000, 60]}\n";
  std::ofstream(dir_ / "in_order.yaml") << model << "tables: {rows: [20000, 60]}\n";
  const auto train = [&](const std::string& config, std::vector<std::string> flags) {
    flags.push_back("--config=" + (dir_ / config));
    return Train({.ranks = 4, .flags = std::move(flags)});
  };
  const TrainResult first = train("exact.yaml", {"--model_dir=" + dir_ / "first"});
  ASSERT_TRAINED(first);
  const ProcessResult made =
      RunPlanStrategies({"--measured=" + dir_ / "first", "--out=" + dir_ / "plan.json"});
  ASSERT_EQ(made.exit_code, 0) << made.Describe();
  EXPECT_EQ(ReadJson(dir_ / "plan.json").at("strategy"), "skew_aware");
  EXPECT_EQ(ReadJson(dir_ / "plan.json")["plan"]["placements"][0]["pools_on_shards"], true);
  const TrainResult second = train("exact.yaml", {"--plan=" + dir_ / "plan.json"});
  ASSERT_TRAINED(second);
  EXPECT_EQ(second.losses, first.losses);
  EXPECT_EQ(second.digest, first.digest);

  ASSERT_TRAINED(
      train("in_order.yaml", {"--model_dir=" + dir_ / "second", "--strategy=table_wise_lpt"}));
  EXPECT_REFUSED(RunPlanStrategies({"--measured=" + dir_ / "second"}),
                 AllOf(HasSubstr("pooling_sum: exact"), HasSubstr("pool_on: workers")));
  const ProcessResult by_workers =
      RunPlanStrategies({"--measured=" + dir_ / "second", "--pool_on=workers"});
  EXPECT_EQ(by_workers.exit_code, 0) << by_workers.Describe();
}

TEST_F(PlanFiles, MeasuringWhatCannotBeReadIsRefused) {
  ASSERT_TRAINED(TrainOn({"--model_dir=" + dir_ / "model", "--stop_after_steps=5"}));
  const auto plan = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"--measured=" + dir_ / "model"};
    all.insert(all.end(), flags.begin(), flags.end());
    return RunPlanStrategies(all);
  };
  EXPECT_REFUSED(plan({"--config=" + config_, "--arch_embedding_size=20000-901-60"}),
                 AllOf(HasSubstr("--measured="), HasSubstr("medium.quotient")));
  EXPECT_REFUSED(plan({"--plan=" + PlanTo("p.json", {"--strategy=fair"})}), HasSubstr("only one"));
  std::filesystem::rename(dir_ / "model/rows/shard-0001", dir_ / "elsewhere");
  EXPECT_REFUSED(plan({}), AllOf(HasSubstr("rows of shard 1 were saved in"),
                                 HasSubstr("model/rows/shard-0001"), HasSubstr("--count_ids")));
}

}  // namespace
}  // namespace rowhouse
