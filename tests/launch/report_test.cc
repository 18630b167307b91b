#include "launch/report/report.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

RunReport ReportSample() {
  RunReport report;
  report.settings.Complete();
  report.environment = {.hosts = {"a", "b"},
                        .cores = 2,
                        .workers = 3,
                        .ps_nodes = 2,
                        .shards = 4,
                        .started_at = "2025-01-31T12:00:00Z",
                        .command_line = "rowhouse train"};
  report.curve = {{.step = 10, .epoch = 0, .loss = 0.5, .samples_per_second = 100.0},
                  {.step = 20,
                   .epoch = 1,
                   .loss = 0.25,
                   .accuracy = 0.75,
                   .samples_per_second = 200.0,
                   .learning_rate = 0.05}};
  report.evaluations = {{.step = 20, .samples = 7, .auc = 0.8, .logloss = 0.5, .accuracy = 0.7}};
  report.totals = {.steps = 20,
                   .samples = 1280,
                   .seconds = 2.0,
                   .samples_per_second = 640.0,
                   .median_step_ms = 97.5,
                   .wire_bytes_per_step = 4096.0};
  report.sharding = {
      .plan_digest = "0abc",
      .ps_nodes = {{.placed_bytes = 144.0, .rows_pulled = 7, .rows_pushed = 6, .peak_bytes = 99},
                   {.placed_bytes = 72.0, .cache_bytes = 64}},
      .worker_rows = 3,
      .worker_bytes = 288,
      .traffic = {{.table = TableId{1}, .lookups = 30, .refusal = {}},
                  {.table = TableId{2}, .refusal = "no"}}};
  report.phases = {.start = 0.5, .steps = {.pull = 1.5}, .test = 0.125, .save = 0.25};
  report.table_loads = {{.name = "t1", .pulled = {.from_memory = 3}, .rows_pushed = 2}};
  report.rows = {.digest = "00ff", .count = 9};
  report.shards = {{.name = "shard 0",
                    .rows = 9,
                    .counters = {.pulled = {.from_memory = 5, .first_touched = 2, .from_store = 1},
                                 .cache_bytes_moved = 8}}};
  return report;
}

TEST(Report, HoldsWhatTheRunWasDidAndReached) {
  const TempDir dir;
  const std::string path = dir / "made/on/the/way/report.json";
  ASSERT_OK(WriteReport(ReportSample(), path));
  const nlohmann::json json = ReadJson(path);
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["environment"]["hosts"][1], "b");
  EXPECT_EQ(json["curve"][1]["accuracy"], 0.75);
  EXPECT_EQ(json["curve"][1]["learning_rate"], 0.05);
  EXPECT_EQ(json["evaluations"][0]["auc"], 0.8);
  EXPECT_EQ(json["totals"]["samples_per_second"], 640.0);
  EXPECT_EQ(json["rows"]["digest"], "00ff");
  EXPECT_EQ(json["shards"][0]["rows_from_memory"], 5);
  EXPECT_EQ(json["shards"][0]["rows_first_touched"], 2);
  EXPECT_EQ(json["shards"][0]["rows_from_store"], 1);
  EXPECT_EQ(json["shards"][0]["rows_pulled"], 8);
  EXPECT_EQ(json["phases"]["pull_seconds"], 1.5);
  EXPECT_EQ(json["phases"]["save_seconds"], 0.25);
  EXPECT_EQ(json["table_loads"][0]["name"], "t1");
  EXPECT_EQ(json["table_loads"][0]["rows_pulled"], 3);
  EXPECT_TRUE(json["memory_plan"].is_null());
  EXPECT_EQ(json["versions"]["rowhouse"].get<std::string>().empty(), false);
  EXPECT_EQ(json["shards"][0]["cache_bytes_moved"], 8);
  for (const ShardCounter& counter : kShardCounters) {
    EXPECT_EQ(json["shards"][0].contains(counter.name), !counter.is_of_process) << counter.name;
  }
}

TEST(Report, HasTheLineOfTheBaselineOrSaysWhyNot) {
  RunReport report = ReportSample();
  EXPECT_TRUE(ReportToJson(report)["baseline"].is_null());
  report.baseline = {.of_test = {.samples = 7, .auc = 0.75, .logloss = 0.5, .accuracy = 0.625},
                     .train_samples = 9,
                     .why_not = ""};
  EXPECT_EQ(ReportToJson(report)["baseline"].dump(),
            R"({"auc":0.75,"logloss":0.5,"accuracy":0.625,"train_samples":9,"test_samples":7})");
  report.baseline->of_test.auc = std::nullopt;
  EXPECT_TRUE(ReportToJson(report)["baseline"]["auc"].is_null());
  report.baseline->why_not = "a pipe";
  EXPECT_EQ(ReportToJson(report)["baseline"].dump(), R"({"why_not":"a pipe"})");
}

TEST(Report, SaysHowRowsWereShardedAndWhatThatCost) {
  RunReport report = ReportSample();
  report.settings.sharding.strategy = "grid";
  report.settings.sharding.pool_on = "shards";
  const nlohmann::json json = ReportToJson(report);
  EXPECT_EQ(json["totals"]["median_step_ms"], 97.5);
  EXPECT_EQ(json["totals"]["wire_bytes_per_step"], 4096.0);
  const nlohmann::json& sharding = json["sharding"];
  EXPECT_EQ(sharding["strategy"], "grid");
  EXPECT_EQ(sharding["pool_on"], "shards");
  EXPECT_EQ(sharding["plan_digest"], "0abc");
  EXPECT_EQ(sharding["ps_nodes"][0]["placed_bytes"], 144.0);
  EXPECT_EQ(sharding["ps_nodes"][0]["rows_pulled"], 7);
  EXPECT_EQ(sharding["ps_nodes"][0]["rows_pushed"], 6);
  EXPECT_EQ(sharding["ps_nodes"][0]["peak_bytes"], 99);
  EXPECT_TRUE(sharding["ps_nodes"][1]["peak_bytes"].is_null()) << "not known";
  EXPECT_EQ(sharding["ps_nodes"][1]["cache_bytes"], 64);
  EXPECT_EQ(sharding["on_each_worker"]["rows"], 3);
  EXPECT_EQ(sharding["on_each_worker"]["bytes"], 288);
  EXPECT_EQ(sharding["tables"][0]["name"], "t1");
  EXPECT_EQ(sharding["tables"][0]["lookups"], 30.0);
  EXPECT_TRUE(sharding["tables"][1]["by_bags"].is_null());
  report.settings.sharding.plan = "plan.json";
  EXPECT_TRUE(ReportToJson(report)["sharding"]["strategy"].is_null());
}

TEST(Report, SettingsHaveTheirTypes) {
  const nlohmann::json json = SettingsToJson(ReportSample().settings);
  EXPECT_EQ(json["training"]["learning_rate"], 0.01);
  EXPECT_EQ(json["training"]["nepochs"], 1);
  EXPECT_EQ(json["training"]["debug_mode"], false);
  EXPECT_EQ(json["model"]["arch_mlp_bot"], (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(json["data"]["max_ind_range"], -1);
  EXPECT_EQ(json["cluster"]["ps_endpoints"], nlohmann::json::array());
  EXPECT_EQ(json["config_digest"].get<std::string>().size(), 32u);
  EXPECT_FALSE(json.contains("server"));
}

TEST(Report, SaysWhatTheModelTakes) {
  RunReport report = ReportSample();
  LogicalTable& table = report.settings.tables[0];
  table.rows = 1000;
  table.kind = "block";
  table.kind_options = {{"block_dim", "1"}};
  table.optimizer = "adagrad";
  table.weighted_pooling = "learned";
  report.settings.Complete();
  // 1000 rows of 1 float and 1 weight, a projection 2 x 1, and tables of 3 and 2 rows of 2 floats.
  EXPECT_EQ(ReportToJson(report)["model_bytes"].dump(),
            R"({"rows":8048,"state":8000,"plain_rows":12040})");
}

TEST(Report, IsLabelledByTheOperatorOrByItsDirectory) {
  RunReport report = ReportSample();
  const auto label = [&] { return ReportToJson(report)["label"]; };
  EXPECT_TRUE(label().is_null());
  report.settings.output.model_dir = "runs/block-32";
  EXPECT_EQ(label(), "block-32");
  report.settings.output.model_dir = "runs/block-32/";
  EXPECT_EQ(label(), "block-32");
  const std::string digest = report.settings.config_digest();
  report.settings.output.label = "blocks of 32";
  EXPECT_EQ(label(), "blocks of 32");
  EXPECT_EQ(report.settings.config_digest(), digest);
}

TEST(Report, FiguresNobodyKnowsAreNull) {
  RunReport report = ReportSample();
  report.evaluations[0].auc.reset();
  report.evaluations[0].logloss = std::numeric_limits<double>::infinity();
  const nlohmann::json json = ReportToJson(report);
  EXPECT_TRUE(json["curve"][0]["accuracy"].is_null());
  EXPECT_TRUE(json["evaluations"][0]["auc"].is_null());
  EXPECT_TRUE(json["evaluations"][0]["logloss"].is_null());
  EXPECT_TRUE(json["totals"]["test_auc_ceiling"].is_null());
}

TEST(Report, ReplacesAnEarlierOneAndItsPageAndLeavesNothingBeside) {
  const TempDir dir;
  RunReport report = ReportSample();
  ASSERT_OK(WriteReport(report, dir / "report.json"));
  report.rows.digest = "other";
  ASSERT_OK(WriteReport(report, dir / "report.json"));
  EXPECT_EQ(ReadJson(dir / "report.json")["rows"]["digest"], "other");
  const Result<std::string> page = ReadFile(ReportPagePath(dir / "report.json"));
  ASSERT_OK(page);
  EXPECT_THAT(page.value(), testing::HasSubstr(R"("rows":{"digest":"other")"));
  const std::filesystem::directory_iterator files(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST(Report, ThePageNeverTakesTheReportsPlace) {
  EXPECT_EQ(ReportPagePath("runs/x/report.json"), "runs/x/report.html");
  EXPECT_EQ(ReportPagePath("r.html"), "r.html.html");
  EXPECT_EQ(ReportPagePath("of.json/r"), "of.json/r.html");
}

TEST(Report, APlaceThatCannotBeWrittenIsNamed) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  const Status status = WriteReport(ReportSample(), dir / "file/report.json");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::AllOf(testing::StartsWith("the run's report: "),
                                               testing::HasSubstr(dir / "file")));
}

}  // namespace
}  // namespace rowhouse
