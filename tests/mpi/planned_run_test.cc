// --plan=auto through real processes: whatever the planner decides, a run trains to the bits of any
// other plan, with caches, rows on the workers and bags pooled on shards; it goes on from what it
// saved; and its plan travels as a file.
#include <fstream>
#include <set>

#include "launch/hosts/host_facts.h"
#include "sharding/lab/cost/machine.h"
#include "tests/mpi/all_kinds_model.h"
#include "tests/mpi/simulated_train.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

ProcessResult RunPlan(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {ROWHOUSE_BINARY, "plan"});
  return RunCommand({.arguments = std::move(flags)});
}

#define ASSERT_TRAINED(result) ASSERT_EQ((result).exit_code, 0) << (result).Describe()
#define EXPECT_REFUSED(result, words)                      \
  do {                                                     \
    const ProcessResult refused = (result);                \
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe(); \
    EXPECT_THAT(refused.err, words);                       \
  } while (false)

// Long bags of a large table, a table of a few rows, and skewed ids of single ones.
constexpr const char* kMixed = R"(
model: {arch_mlp_bot: [5, 32], arch_mlp_top: [16, 1], arch_sparse_feature_size: 32,
        loss_function: bce}
data: {data_generation: random, num_batches: 12, num_indices_per_lookup: 60, round_targets: true}
training: {mini_batch_size: 60, learning_rate: 0.05, optimizer: adagrad, print_freq: 1}
storage: {cache_ratio: 0.05}
tables:
  list:
  - {name: long, rows: 200000}
  - {name: long_too, rows: 60000, pooling: mean}
  - {name: exact, rows: 30000, pooling_sum: exact}
  - {name: tiny, rows: 3}
  - {name: learned, rows: 500, weighted_pooling: learned}
)";

class PlannedRuns : public testing::Test {
 protected:
  PlannedRuns() { std::ofstream(config_) << kMixed; }

  // On 2 PS nodes of 2 shards, with 2 workers; the planner sees a machine that is the same on
  // every host, and measured here.
  TrainResult TrainOn(std::vector<std::string> flags) {
    return TrainBy(calibration_, std::move(flags));
  }

  TrainResult TrainBy(const std::string& calibration, std::vector<std::string> flags) {
    flags.insert(flags.end(),
                 {"--config=" + config_, "--ps=2", "--shards=2", "--calibration=" + calibration});
    return Train({.ranks = 4, .flags = std::move(flags)});
  }

  // Typical figures as if they had been measured on this host, this many times as fast.
  std::string WriteCalibration(const std::string& name, double times) {
    json machine = json::parse(Machine::Typical().ToJson().dump());
    const HostFacts here = FactsOfThisHost();
    machine["host"] = here.name;
    machine["cpu"] = CpuName();
    machine["cores"] = here.cpus;
    machine["constants"]["in_step_pull"] = {{"value", 1}, {"unit", "times"}, {"spread", 0}};
    for (auto& [kernel, table] : machine["kernels"].items()) {
      for (json& ns : table["ns"]) ns = ns.get<double>() / times;
    }
    std::ofstream(dir_ / name) << machine.dump();
    return dir_ / name;
  }

  const TempDir dir_;
  const std::string config_ = dir_ / "mixed.yaml";
  const std::string calibration_ = WriteCalibration("calibration.json", 1);
};

TEST_F(PlannedRuns, ByTypicalFiguresAPlanIsProposedAndTheConfiguredOneUsed) {
  const TrainResult configured = TrainOn({"--strategy=table_wise_lpt"});
  ASSERT_TRAINED(configured);
  const TrainResult proposed = TrainBy("typical", {"--plan=auto", "--strategy=table_wise_lpt"});
  ASSERT_TRAINED(proposed);
  EXPECT_THAT(proposed.out, AllOf(HasSubstr("ms a step predicted for "),
                                  HasSubstr("only proposed: --calibration=typical is no"),
                                  HasSubstr("the run uses strategy table_wise_lpt as configured")));
  const json& sharding = proposed.report.at("sharding");
  EXPECT_EQ(sharding.at("strategy"), "table_wise_lpt");
  EXPECT_EQ(sharding.at("plan_digest"), configured.report["sharding"]["plan_digest"]);
  EXPECT_EQ(proposed.digest, configured.digest);
}

TEST_F(PlannedRuns, ARunThatIsSlowerThanPromisedSaysSo) {
  const TrainResult planned =
      TrainBy(WriteCalibration("fast.json", 1000), {"--plan=auto", "--strategy=row_wise"});
  ASSERT_TRAINED(planned);
  EXPECT_THAT(planned.out,
              AllOf(HasSubstr("  used instead of strategy row_wise ("),
                    HasSubstr("slower than promised: the planner's plan was used for "),
                    HasSubstr(" with strategy row_wise, and the median step took ")));
}

TEST_F(PlannedRuns, TrainToTheBitsOfAnyOtherPlanAndReportTheirOwn) {
  const TrainResult by_rows = TrainOn({"--strategy=row_wise"});
  ASSERT_TRAINED(by_rows);
  const TrainResult planned = TrainOn({"--plan=auto"});
  ASSERT_TRAINED(planned);
  EXPECT_EQ(planned.losses, by_rows.losses);
  EXPECT_EQ(planned.digest, by_rows.digest);
  const json& sharding = planned.report.at("sharding");
  EXPECT_EQ(sharding.at("strategy"), "auto");
  ASSERT_EQ(sharding.at("placement").size(), 6u);  // with the learned weights
  std::set<std::string> pooled_on, strategies;
  for (const json& table : sharding.at("placement")) {
    pooled_on.insert(table.at("pool_on"));
    strategies.insert(table.at("strategy"));
  }
  EXPECT_EQ(pooled_on, (std::set<std::string>{"shards", "workers"})) << sharding.at("placement");
  EXPECT_GE(strategies.size(), 2u) << sharding.at("placement");
}

TEST_F(PlannedRuns, OfAllKindsWithHotRowsTrainToTheBitsOfTheSimulatedCluster) {
  const std::string config = WriteAllKindsYaml(dir_ / "wide.yaml", "adagrad", 2, 32);
  const std::string counts = dir_ / "counts.json";
  const ProcessResult counted = RunPlan({"--config=" + config, "--count_ids", "--out=" + counts});
  ASSERT_EQ(counted.exit_code, 0) << counted.Describe();
  const TrainResult simulated = SimulateTrain({"--config=" + config}, {.workers = 2});
  const TrainResult planned =
      Train({.ranks = 4,
             .flags = {"--config=" + config, "--plan=auto", "--ps=2", "--shards=2",
                       "--access_counts=" + counts, "--hot_rows=20", "--cache_ratio=0.05",
                       "--calibration=" + calibration_}});
  ASSERT_TRAINED(planned);
  EXPECT_EQ(planned.losses, simulated.losses);
  EXPECT_EQ(planned.digest, simulated.digest);
}

TEST_F(PlannedRuns, GoOnWithThePlanTheyWereSavedWith) {
  const TrainResult whole = TrainOn({"--plan=auto"});
  ASSERT_TRAINED(whole);
  const std::vector<std::string> flags = {"--plan=auto", "--model_dir=" + dir_ / "model"};
  TrainResult part = TrainOn({flags[0], flags[1], "--stop_after_steps=5"});
  ASSERT_TRAINED(part);
  // With other constants another plan might be found; the rows stay where they are.
  const TrainResult rest = TrainOn({flags[0], flags[1], "--load", "--hot_rows=0"});
  ASSERT_TRAINED(rest);
  part.losses.insert(part.losses.end(), rest.losses.begin(), rest.losses.end());
  EXPECT_EQ(part.losses, whole.losses);
  EXPECT_EQ(rest.digest, whole.digest);
}

TEST_F(PlannedRuns, PlansTravelAsFiles) {
  const std::string file = dir_ / "plan.json";
  const ProcessResult made =
      RunPlan({"--config=" + config_, "--plan=auto", "--ps=2", "--shards=2", "--workers=2",
               "--calibration=" + calibration_, "--out=" + file});
  ASSERT_EQ(made.exit_code, 0) << made.Describe();
  EXPECT_THAT(made.out, AllOf(HasSubstr("found by "), HasSubstr(" ms a step, "),
                              HasSubstr("ms if pulled"), HasSubstr("auto: 6 tables on 2 PS ")));
  const TrainResult by_file = Train(
      {.ranks = 4, .flags = {"--config=" + config_, "--plan=" + file, "--ps=2", "--shards=2"}});
  ASSERT_TRAINED(by_file);
  const TrainResult planned = TrainOn({"--plan=auto"});
  ASSERT_TRAINED(planned);
  EXPECT_EQ(by_file.report["sharding"]["plan_digest"], planned.report["sharding"]["plan_digest"]);
  EXPECT_EQ(by_file.digest, planned.digest);
}

TEST_F(PlannedRuns, CacheSharesTravelWithThePlanAndChangeNoBit) {
  const std::string file = dir_ / "plan.json";
  const std::vector<std::string> cache = {"--cache_mb=1", "--cache_ratio=1"};
  std::vector<std::string> flags = {"--config=" + config_,   "--plan=auto",  "--ps=2", "--shards=2",
                                    "--calibration=typical", "--out=" + file};
  flags.insert(flags.end(), cache.begin(), cache.end());
  const ProcessResult made = RunPlan(flags);
  ASSERT_EQ(made.exit_code, 0) << made.Describe();
  EXPECT_THAT(made.out, HasSubstr("of each shard's cache, at first: "));
  const auto train = [&](const std::string& plan) {
    return Train(
        {.ranks = 4,
         .flags = {"--config=" + config_, plan, "--ps=2", "--shards=2", cache[0], cache[1]}});
  };
  const TrainResult by_file = train("--plan=" + file);
  ASSERT_TRAINED(by_file);
  double shares = 0;
  for (const json& table : by_file.report["sharding"]["placement"]) {
    if (!table.at("cache_share").is_null()) shares += table.at("cache_share").get<double>();
  }
  EXPECT_GT(shares, 0.1);
  const TrainResult equal = train("--strategy=row_wise");
  ASSERT_TRAINED(equal);
  EXPECT_EQ(by_file.losses, equal.losses);
  EXPECT_EQ(by_file.digest, equal.digest);
  json edited = json::parse(std::ifstream(file));
  for (json& placement : edited["plan"]["placements"]) placement["cache_share"] = 0.8;
  std::ofstream(file) << edited.dump(1);
  EXPECT_REFUSED(train("--plan=" + file),
                 AllOf(HasSubstr("with its cache_share=0.8 the shares on shard "),
                       ContainsRegex("sum to (1[.]6|2[.]4|3[.]2)")));
}

TEST_F(PlannedRuns, WhatCannotBePlannedIsRefusedInWords) {
  EXPECT_REFUSED(RunPlan({"--config=" + config_, "--plan=auto", "--strategy=grid"}),
                 AllOf(HasSubstr("--strategy=grid"), HasSubstr("chooses by itself")));
  EXPECT_REFUSED(TrainOn({"--plan=auto:best"}),
                 HasSubstr("the planner has one method; say --plan=auto"));
  const std::vector<std::string> small = {"--config=" + config_, "--plan=auto", "--ps=2",
                                          "--ps_disk_mb=1", "--calibration=typical"};
  std::vector<std::string> smaller = small;
  smaller.emplace_back("--worker_memory_mb=1");
  EXPECT_REFUSED(RunPlan(smaller),
                 AllOf(HasSubstr(" of disk: table \""), HasSubstr("use at least "),
                       HasSubstr("(--ps_disk_mb=1, --worker_memory_mb=1)")));
  // Tables that shards have no room for go to the workers.
  const ProcessResult on_workers = RunPlan(small);
  EXPECT_EQ(on_workers.exit_code, 0) << on_workers.Describe();
}

}  // namespace
}  // namespace rowhouse
