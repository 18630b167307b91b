// What sharding costs, through real processes: launch/experiments/strategies.sh, and the bytes that
// pooling on the shards saves on DLRM's benchmark.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "common/durable_file.h"
#include "sharding/plans/strategy.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// ---- Bytes --------------------------------------------------------------------------------------

struct Pooling {
  std::string strategy, pool_on;
  bool exact = false;
};

// configs/dlrm_benchmark.yaml with bags of exactly 100, an eighth of a sixteenth of it: two tables
// of 1M / 16 rows, 2048 / 16 samples a step, so that as many lookups share a row, and rows are as
// wide, over 4 shards.
class DlrmBenchmarkBytes : public testing::Test {
 protected:
  TrainResult TrainIt(const Pooling& pooling) {
    std::string config = ReadFile(ROWHOUSE_SOURCE_DIR "/configs/dlrm_benchmark.yaml").value();
    if (pooling.exact) {
      config = std::regex_replace(config, std::regex("\ntables:\n"),
                                  "\ntables:\n  defaults: {pooling_sum: exact}\n");
      CHECK(config.find("pooling_sum") != std::string::npos);
    }
    std::ofstream(dir_ / "dlrm.yaml") << config;
    TrainResult result =
        Train({.ranks = 2,
               .flags = {"--config=" + (dir_ / "dlrm.yaml"), "--arch-embedding-size=62500-62500",
                         "--arch_mlp_bot=16-64", "--arch_mlp_top=8-1", "--mini_batch_size=128",
                         "--num_indices_per_lookup_fixed=true", "--num_batches=2", "--store=memory",
                         "--cache_mb=256", "--shards=4", "--strategy=" + pooling.strategy,
                         "--pool_on=" + pooling.pool_on}});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return result;
  }

  static double WireBytes(const TrainResult& result) {
    return result.report.at("totals").at("wire_bytes_per_step").get<double>();
  }

  // What the plan said it would move, over all tables.
  static double Estimated(const TrainResult& result) {
    double bytes = 0;
    for (const auto& table : result.report.at("sharding").at("tables")) {
      bytes += table.at(table.at("pool_on") == "shards" ? "by_bags" : "by_rows").get<double>();
    }
    return bytes;
  }

  const TempDir dir_;
};

TEST_F(DlrmBenchmarkBytes, PoolingOnShardsMovesFewPercentOfMergedRows) {
  const TrainResult rows = TrainIt({"table_wise_lpt", "workers"});
  const TrainResult bags = TrainIt({"table_wise_lpt", "shards"});
  EXPECT_EQ(rows.digest, bags.digest);
  EXPECT_GT(WireBytes(rows), 1e6);
  EXPECT_LE(WireBytes(bags), 0.04 * WireBytes(rows));
  // What was estimated, but for headers.
  EXPECT_NEAR(WireBytes(rows), Estimated(rows), 0.02 * WireBytes(rows));
  EXPECT_NEAR(WireBytes(bags), Estimated(bags), 0.02 * WireBytes(bags));
  EXPECT_THAT(rows.out, HasSubstr("pool_on=shards saves it"));
  EXPECT_THAT(bags.out, testing::Not(HasSubstr("saves it")));

  // Where every shard has a part of every bag.
  const TrainResult exact_rows = TrainIt({"row_wise", "workers", /*exact=*/true});
  const TrainResult exact_bags = TrainIt({"row_wise", "shards", /*exact=*/true});
  EXPECT_EQ(exact_rows.digest, exact_bags.digest);
  EXPECT_LE(WireBytes(exact_bags), 0.08 * WireBytes(exact_rows));
  EXPECT_NEAR(WireBytes(exact_bags), Estimated(exact_bags), 0.02 * WireBytes(exact_bags));
}

TEST_F(DlrmBenchmarkBytes, ManyLookupsOfFewRowsAreToldToBeMerged) {
  const TrainResult result = Train(
      {.ranks = 2,
       .flags = {"--arch-embedding-size=30-20-10", "--mini_batch_size=256", "--num_batches=2",
                 "--num_indices_per_lookup=4", "--strategy=table_wise_lpt", "--pool_on=shards"}});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("pooling: of 3 tables (t0, t1, t2) bags move about "));
  EXPECT_THAT(result.out, HasSubstr("pool_on=workers saves it"));
}

// Skewed ids, of which the config says how skewed they are, over 2 PS nodes.
TEST(StrategyCosts, BytesAreEstimatedWithinAQuarterOfWhatIsCounted) {
  for (const char* pool_on : {"workers", "shards"}) {
    const TrainResult result =
        Train({.ranks = 3,
               .flags = {"--config=" ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml", "--ps=2",
                         "--stop_after_steps=4", "--synthetic_test_samples=64", "--store=memory",
                         std::string("--pool_on=") + pool_on}});
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    double estimated = 0;
    for (const auto& table : result.report.at("sharding").at("tables")) {
      estimated += table.at(*pool_on == 's' ? "by_bags" : "by_rows").get<double>();
    }
    const double counted = result.report.at("totals").at("wire_bytes_per_step").get<double>();
    fmt::print("{}: estimated {:.0f}, counted {:.0f}\n", pool_on, estimated, counted);
    EXPECT_NEAR(estimated, counted, 0.25 * counted) << pool_on;
  }
}

// ---- The script ---------------------------------------------------------------------------------

ProcessResult RunScript(const std::vector<std::string>& arguments) {
  const std::filesystem::path rowhouse = ROWHOUSE_BINARY;
  Command command{.arguments = {ROWHOUSE_SOURCE_DIR "/launch/experiments/strategies.sh"},
                  .environment = {{"PATH", rowhouse.parent_path().string() + ":" + getenv("PATH")}},
                  .time_limit = std::chrono::minutes(4)};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return RunCommand(std::move(command));
}

std::vector<std::string> FieldsOf(const std::string& line) {
  std::vector<std::string> fields = {""};
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"') is_quoted = !is_quoted;
    if (letter == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

TEST(StrategiesScript, TheScriptSetsARunOfEachStrategySideBySide) {
  const TempDir dir;
  const ProcessResult result = RunScript({ROWHOUSE_SOURCE_DIR "/configs/micro_dlrm.yaml", "--quick",
                                          "--out", dir / "out", "--store=memory"});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();

  std::ifstream csv(dir / "out/strategies.csv");
  std::string line;
  ASSERT_TRUE(std::getline(csv, line));
  EXPECT_THAT(line, testing::StartsWith("strategy,placed_bytes_max,"));
  const size_t columns = FieldsOf(line).size();
  std::set<std::string> digests, runs;
  size_t trained = 0;
  while (std::getline(csv, line)) {
    const std::vector<std::string> fields = FieldsOf(line);
    ASSERT_EQ(fields.size(), columns) << line;
    EXPECT_TRUE(runs.insert(fields[0]).second) << line;
    EXPECT_THAT(result.out, HasSubstr("\n" + fields[0] + " ")) << "the table in the terminal";
    if (fields[columns - 1].empty()) {
      ++trained;
      digests.insert(fields[columns - 2]);
    }
  }
  std::set<std::string> all;
  for (const std::string& name : ShardingStrategies().Names()) {
    all.insert(name);
    all.insert(name + "+bags");
  }
  EXPECT_EQ(runs, all);
  EXPECT_EQ(digests.size(), 1u) << result.Describe();
  // Refused may only be a sum in bag order over several shards.
  EXPECT_GE(trained, all.size() / 2) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("refused: "));
  EXPECT_THAT(ReadFile(dir / "out/strategies.html").value(), HasSubstr("table_wise_lpt+bags"));
}

TEST(StrategiesScript, TheScriptRefusesWhatItDoesNotKnow) {
  const std::string config = ROWHOUSE_SOURCE_DIR "/configs/micro_dlrm.yaml";
  const std::vector<std::vector<std::string>> kMistakes = {
      {"--repeat", "2"},         {config, "--repeat"},
      {config, "--repeat", "0"}, {config, config},
      {config, "--ps", "two"},   {config, "--only", "zone_wise"},
      {"no/such.yaml"},          {config, "--stop_after_steps", "3"}};
  for (const std::vector<std::string>& arguments : kMistakes) {
    const ProcessResult result = RunScript(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr("strategies: ")) << result.Describe();
    EXPECT_THAT(result.err, HasSubstr("say launch/experiments/strategies.sh CONFIG"))
        << result.Describe();
  }
}

TEST(StrategiesScript, TheScriptSaysWhichNameItDoesNotKnowAndWhichFlagsAreItsOwn) {
  const std::string config = ROWHOUSE_SOURCE_DIR "/configs/micro_dlrm.yaml";
  const auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), config);
    const ProcessResult result = RunScript(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    return result.err;
  };
  EXPECT_THAT(refusal({"--only", "row_wise,typo"}),
              AllOf(HasSubstr("--only row_wise,typo: \"typo\" is none of: row_wise "),
                    HasSubstr("table_wise_lpt"), HasSubstr("+bags")));
  EXPECT_THAT(refusal({"--only", "row_wise,,grid"}), HasSubstr("commas between"));
  EXPECT_THAT(refusal({"--strategy=grid"}), HasSubstr("--strategy=grid: every strategy gets"));
  EXPECT_THAT(refusal({"--pool-on=shards"}), HasSubstr("--pool-on=shards: every strategy gets"));
  EXPECT_THAT(refusal({"--ps=3"}), HasSubstr("--ps=3: say --ps 3"));
  for (const char* flag : {"--label=x", "--report=x", "--config=x", "--plan=x"}) {
    EXPECT_THAT(refusal({flag}), HasSubstr(std::string("strategies: ") + flag));
  }
}

TEST(StrategiesScript, TheScriptDeletesNothingButWhatItWrote) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "out");
  const std::vector<std::string> kTheirs = {"counts.json",  "row_wise.json", "row_wise-mine.json",
                                            "notes-1.json", "page.html",     "row_wise-mine.html"};
  const std::vector<std::string> kEarlier = {"grid-1.json", "grid-1.html", "row_wise+bags-12.json",
                                             "strategies.csv"};
  for (const auto* names : {&kTheirs, &kEarlier}) {
    for (const std::string& name : *names) std::ofstream(dir / ("out/" + name)) << "{}";
  }
  const ProcessResult result =
      RunScript({ROWHOUSE_SOURCE_DIR "/configs/micro_dlrm.yaml", "--quick", "--only",
                 "table_wise_lpt", "--out", dir / "out", "--store=memory", "--hot-rows=7"});
  // --hot_rows is for another strategy, and does not keep this one from training.
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  for (const std::string& name : kTheirs) {
    EXPECT_EQ(ReadFile(dir / ("out/" + name)).value(), "{}") << name;
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "out/grid-1.json"));
  EXPECT_FALSE(std::filesystem::exists(dir / "out/grid-1.html"));
  EXPECT_FALSE(std::filesystem::exists(dir / "out/row_wise+bags-12.json"));
  EXPECT_NE(ReadFile(dir / "out/strategies.csv").value(), "{}");
  EXPECT_TRUE(std::filesystem::exists(dir / "out/table_wise_lpt-1.json"));
}

}  // namespace
}  // namespace rowhouse
