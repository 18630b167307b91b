// What strategies cost, read from reports and set side by side, and the verb on top.
#include "launch/report/strategy_comparison.h"

#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "launch/report/comparison.h"
#include "launch/report/report.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using StrategyComparisonJson = nlohmann::ordered_json;

class StrategyComparison : public testing::Test {
 protected:
  // As a training run writes it: two PS nodes, the first with three quarters of everything.
  static StrategyComparisonJson Report(const std::string& label, double ms) {
    RunReport report;
    report.settings.output.label = label;
    report.settings.sharding.strategy = "grid";
    report.settings.sharding.pool_on = "shards";
    report.settings.Complete();
    report.totals = {.steps = 10, .median_step_ms = ms, .wire_bytes_per_step = 2.5e6};
    report.rows = {.digest = "00ff", .count = 9};
    report.sharding = {
        .plan_digest = "0abc",
        .ps_nodes =
            {{.placed_bytes = 3072.0, .rows = 80, .rows_pulled = 30000, .cache_bytes = 4096},
             {.placed_bytes = 1024.0, .rows = 20, .rows_pulled = 10000, .cache_bytes = 2048}},
        .worker_rows = 5,
        .worker_bytes = 512,
        .traffic = {}};
    return ReportToJson(report);
  }

  static StrategyComparisonJson Refused(const std::string& label) {
    return {{"format", 1}, {"label", label}, {"refused", "table \"t0\": no, not so"}};
  }

  std::string Write(const std::string& name, const StrategyComparisonJson& json) {
    std::ofstream(dir_ / name) << json.dump();
    return dir_ / name;
  }

  std::vector<StrategyCost> Read(const std::vector<std::string>& paths) {
    const auto costs = ReadStrategyCosts(paths);
    CHECK(costs.ok()) << costs.status().ToString();
    return costs.value();
  }

  std::vector<StrategyCost> Three() {
    return Read({Write("1.json", Report("row_wise", 12.0)), Write("2.json", Report("grid", 4.0)),
                 Write("3.json", Refused("grid+bags")), Write("4.json", Report("row_wise", 10.0)),
                 Write("5.json", Report("grid", 5.0)), Write("6.json", Refused("grid+bags"))});
  }

  std::string Refusal(const StrategyComparisonJson& json) {
    const auto costs = ReadStrategyCosts({Write("bad.json", json)});
    EXPECT_EQ(costs.status().exit_code(), 2);
    EXPECT_THAT(costs.status().message(), StartsWith((dir_ / "bad.json") + ": "));
    return costs.status().message();
  }

  const TempDir dir_;
};

TEST_F(StrategyComparison, RepetitionsOfOneLabelAreOneStrategy) {
  const std::vector<StrategyCost> costs = Three();
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].name, "row_wise");
  EXPECT_EQ(costs[0].step_ms, (std::vector<double>{10.0, 12.0}));
  EXPECT_EQ(costs[0].median_step_ms(), 11.0);
  EXPECT_EQ(costs[0].digests.size(), 2u);
  EXPECT_EQ(costs[0].placed_bytes.max, 3072.0);
  EXPECT_EQ(costs[0].placed_bytes.max_over_mean(), 1.5);
  EXPECT_EQ(costs[0].rows_pulled.max, 3000.0) << "a step";
  EXPECT_EQ(costs[0].wire_bytes, 2.5e6);
  EXPECT_EQ(costs[0].cache_bytes.max, 4096.0);
  EXPECT_EQ(costs[0].rows_stored.max, 80.0);
  EXPECT_EQ(costs[0].rows_stored.max_over_mean(), 1.6);
  EXPECT_EQ(costs[0].worker_bytes, 512.0);
  EXPECT_EQ(costs[2].refused, "table \"t0\": no, not so");
}

TEST_F(StrategyComparison, WithoutALabelARunIsCalledByItsStrategy) {
  EXPECT_EQ(Read({Write("1.json", Report("", 1.0))})[0].name, "grid+bags");
  StrategyComparisonJson report = Report("", 1.0);
  report["sharding"]["pool_on"] = "workers";
  // Nothing lies on a PS node.
  for (StrategyComparisonJson& node : report["sharding"]["ps_nodes"]) node["placed_bytes"] = 0.0;
  const StrategyCost cost = Read({Write("1.json", report)})[0];
  EXPECT_EQ(cost.name, "grid");
  EXPECT_EQ(cost.placed_bytes.max_over_mean(), 1.0);
}

// Reports from before it was measured.
TEST_F(StrategyComparison, WhatNobodyMeasuredIsNoNumber) {
  StrategyComparisonJson report = Report("old", 1.0);
  report["sharding"].erase("on_each_worker");
  const std::vector<StrategyCost> costs = Read({Write("1.json", report)});
  EXPECT_EQ(costs[0].worker_bytes, std::nullopt);
  EXPECT_THAT(TableAsText(StrategyTable(costs)), HasSubstr("1.600            -  "));
  EXPECT_THAT(TableAsCsv(StrategyTable(costs)), HasSubstr("\nold,3072,1.5,4096,"));
}

TEST_F(StrategyComparison, TheTableIsAlignedForATerminal) {
  EXPECT_EQ(TableAsText(StrategyTable(Three())),
            "strategy   plan, max  max/mean  cache, max  max/mean  rows stored, max  max/mean  on "
            "a worker  "
            "rows pulled a step, max  max/mean  bytes a step  ms a step  "
            "    min..max  rows digest\n"
            "row_wise    3.00 KiB     1.500    4.00 KiB     1.333                80     1.600      "
            "  512 B  "
            "                  3,000     1.500      2.38 MiB      11.00  "
            "10.00..12.00  00ff\n"
            "grid        3.00 KiB     1.500    4.00 KiB     1.333                80     1.600      "
            "  512 B  "
            "                  3,000     1.500      2.38 MiB       4.50  "
            "  4.00..5.00  00ff\n"
            "grid+bags          -         -           -         -                 -         -      "
            "      -  "
            "                      -         -             -          -  "
            "           -  refused: table \"t0\": no, not so\n");
}

TEST_F(StrategyComparison, CsvHoldsEveryBitAndTheReasons) {
  EXPECT_EQ(
      TableAsCsv(StrategyTable(Three())),
      "strategy,placed_bytes_max,placed_bytes_max_over_mean,cache_bytes_max,"
      "cache_bytes_max_over_mean,rows_stored_max,rows_stored_max_over_mean,worker_bytes,"
      "rows_pulled_per_step_max,"
      "rows_pulled_max_over_mean,wire_bytes_per_step,step_ms_median,step_ms_min,step_ms_max,"
      "repetitions,rows_digest,refused\n"
      "row_wise,3072,1.5,4096,1.3333333333333333,80,1.6,512,3000,1.5,2500000,11,10,12,2,00ff,\n"
      "grid,3072,1.5,4096,1.3333333333333333,80,1.6,512,3000,1.5,2500000,4.5,4,5,2,00ff,\n"
      "grid+bags,,,,,,,,,,,,,,,,\"table \"\"t0\"\": no, not so\"\n");
}

TEST_F(StrategyComparison, ThePageHoldsEveryFigureAndTheReasons) {
  const std::string page = StrategyPage(Three());
  EXPECT_THAT(page, HasSubstr(R"({"strategy":"row_wise","placed_bytes_max":3072.0,)"
                              R"("placed_bytes_max_over_mean":1.5,"cache_bytes_max":4096.0,)"));
  EXPECT_THAT(page, HasSubstr(R"("step_ms_median":4.5,"step_ms_min":4.0,"step_ms_max":5.0)"));
  EXPECT_THAT(page, HasSubstr(R"({"strategy":"grid+bags","refused":"table \"t0\": no, not so"})"));
  EXPECT_THAT(page, HasSubstr(R"("fault":"")"));
}

TEST_F(StrategyComparison, RowsThatDifferAreADefectAndAreNamed) {
  EXPECT_OK(CheckSameRows(Three()));
  std::vector<StrategyCost> costs = Three();
  costs[1].digests[1] = "0000";
  const Status status = CheckSameRows(costs);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), StartsWith("rows digest 00ff with row_wise, but 0000 with grid: "));
  EXPECT_EQ(CheckSameRows({costs[2]}).message(),
            "every strategy was refused: there is nothing to compare");
}

TEST_F(StrategyComparison, WhatIsNoReportOfShardingIsNamed) {
  EXPECT_THAT(Refusal({{"format", 2}}), HasSubstr("no report of format 1"));
  EXPECT_THAT(Refusal(StrategyComparisonJson::array()), HasSubstr("no report of format 1"));
  EXPECT_THAT(Refusal({{"format", 1}}), HasSubstr("no text at /sharding/strategy"));
  EXPECT_THAT(Refusal({{"format", 1}, {"label", "x"}, {"refused", 7}}),
              HasSubstr("no text at /refused"));
  StrategyComparisonJson report = Report("x", 1.0);
  report["totals"]["median_step_ms"] = nullptr;  // No step was trained.
  EXPECT_THAT(Refusal(report), HasSubstr("no number at /totals/median_step_ms"));
  const auto both =
      ReadStrategyCosts({Write("a.json", Report("x", 1.0)), Write("b.json", Refused("x"))});
  EXPECT_EQ(both.status().message(),
            (dir_ / "b.json") + ": x was refused in one run and trained in another");
}

TEST_F(StrategyComparison, TheVerbPrintsAndWritesAndThenSaysThatRowsDiffer) {
  const std::string a = Write("a.json", Report("a", 1.0));
  StrategyComparisonJson other = Report("b", 1.0);
  other["rows"]["digest"] = "0000";
  const std::string b = Write("b.json", other);
  std::filesystem::create_directory(dir_ / "out");
  testing::internal::CaptureStdout();
  const Status status =
      RunCompare({a, b}, dir_ / "out/x.html", dir_ / "out/x.csv", /*of_strategies=*/true);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(status.exit_code(), 1) << status.ToString();
  const auto costs = Read({a, b});
  EXPECT_EQ(printed, TableAsText(StrategyTable(costs)));
  EXPECT_EQ(ReadFile(dir_ / "out/x.html").value(), StrategyPage(costs));
  EXPECT_EQ(ReadFile(dir_ / "out/x.csv").value(), TableAsCsv(StrategyTable(costs)));
}

}  // namespace
}  // namespace rowhouse
