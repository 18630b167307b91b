// Predicted beside actual, from reports made up: many ranks, few steps, figures that nobody knows.
#include "launch/report/run_prediction.h"

#include <nlohmann/json.hpp>

#include "launch/report/report.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using testing::Not;

// 100 steps of `workers` workers and `nodes` PS nodes, one shard each. A step takes worker w 10 + w
// ms; node n moves 2 MB and 1000 rows, half of them from memory, and works 3 ms.
RunReport ReportOf(uint32_t workers, uint32_t nodes) {
  constexpr uint64_t kSteps = 100;
  RunReport report;
  report.settings.Complete();
  report.environment.workers = workers;
  report.totals = {.steps = kSteps, .median_step_ms = 10.0, .wire_bytes_per_step = 2e6 * nodes};
  report.prediction = RunPrediction{.cost = {.ms = 9.0, .wire_bytes = 2e6 * nodes, .hit_rate = 0.5},
                                    .ids = "ids evenly spread"};
  StepCost& cost = report.prediction->cost;
  cost.phases.pull = 9.0;
  cost.workers = {{.rows_pulled = 1000.0 * nodes / workers}};
  for (uint32_t w = 0; w < workers; ++w) {
    report.workers.push_back(
        {.name = fmt::format("worker {} (rank {} on a)", w, nodes + w),
         .median_step_ms = 10.0 + w,
         .steps = {.pull = 0.8 * kSteps * 1e-3, .allreduce = 0.2 * kSteps * 1e-3}});
  }
  for (uint32_t n = 0; n < nodes; ++n) {
    cost.ps.push_back({.rows_pulled = 1000,
                       .bytes_in = 5e5,
                       .bytes_out = 1.6e6,
                       .hit_rate = 0.5,
                       .busy_ms = 2.7});
    report.sharding.ps_nodes.push_back(
        {.name = fmt::format("PS node {} (rank {} on a)", n, n), .wire_bytes = 2'000'000 * kSteps});
    ShardTimes times;
    times.shard[static_cast<size_t>(ShardPhase::kGather)] = 3'000'000 * kSteps;
    times.shard[static_cast<size_t>(ShardPhase::kWait)] = 1 << 30;
    report.shards.push_back(
        {.counters = {.pulled = {.from_memory = 500 * kSteps, .from_store = 500 * kSteps}},
         .training_times = times});
  }
  return report;
}

TEST(PredictionText, HasALineForEveryRank) {
  const std::string text = PredictionText(ReportOf(2, 2));
  EXPECT_THAT(
      text,
      HasSubstr("predicted / actual: step 9 / 10 ms (-10 %), 3.815 / 3.815 MiB (+0 %), 2,000 / "
                "2,000 rows a step\n"));
  EXPECT_THAT(text, HasSubstr("  worker 1 (rank 3 on a): step 9 / 11 ms (-18 %), in the allreduce "
                              "0 / 0.2 ms\n"));
  EXPECT_THAT(
      text, HasSubstr("  PS node 1 (rank 1 on a): 1,000 / 1,000 rows, 2.003 / 1.907 MiB (+5 %), at "
                      "work 2.7 / 3 ms (-10 %), from memory 50.0 / 50.0 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("memory is new")));
}

TEST(PredictionText, OfManyRanksTellsTheLeastTheMedianAndTheMost) {
  const std::string text = PredictionText(ReportOf(65, 32));
  EXPECT_THAT(text, HasSubstr("  65 workers, least, median and most:\n    ms a step 9, 9, 9 / 10, "
                              "42, 74\n"));
  EXPECT_THAT(text, HasSubstr("  32 PS nodes, least, median and most:\n    rows a step 1000, 1000, "
                              "1000 / 1000, 1000, 1000\n"));
  EXPECT_LT(std::ranges::count(text, '\n'), 12);
}

TEST(PredictionText, OfFewStepsSaysThatMemoryIsNew) {
  RunReport report = ReportOf(1, 1);
  report.totals.first_step = 99;
  EXPECT_THAT(PredictionText(report), HasSubstr("\n  only 1 step: the first steps of a run are "
                                                "slower, as their memory is new; "));
}

TEST(PredictionText, OfARunWithoutStepsIsNothing) {
  RunReport report = ReportOf(1, 1);
  report.prediction.reset();
  EXPECT_EQ(PredictionText(report), "");
  EXPECT_TRUE(PredictionToJson(report).is_null());
  report = ReportOf(1, 1);
  report.totals.first_step = report.totals.steps;
  report.totals.median_step_ms.reset();
  report.totals.wire_bytes_per_step.reset();
  report.workers[0].median_step_ms.reset();
  EXPECT_EQ(PredictionText(report), "");
  const nlohmann::json json = PredictionToJson(report);
  EXPECT_TRUE(json["step_ms"]["actual"].is_null());
  EXPECT_TRUE(json["phases_ms"]["pull"]["actual"].is_null());
  EXPECT_TRUE(json["workers"][0]["step_ms"]["actual"].is_null());
  EXPECT_TRUE(json["ps_nodes"][0]["bytes"]["actual"].is_null());
  EXPECT_TRUE(json["ps_nodes"][0]["busy_ms"]["actual"].is_null());
}

TEST(PredictionText, WhatNobodyKnowsIsNoNumber) {
  RunReport report = ReportOf(1, 1);
  report.shards[0].counters = {};
  report.shards[0].training_times.reset();
  const std::string text = PredictionText(report);
  EXPECT_THAT(text, HasSubstr("at work 2.7 / - ms, no rows pulled"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  EXPECT_TRUE(PredictionToJson(report)["ps_nodes"][0]["busy_ms"]["actual"].is_null());
}

TEST(PredictRun, OverSeveralHostsSaysThatTheirNetworkIsNotKnown) {
  Settings settings;
  settings.sharding.calibration = "typical";
  settings.Complete();
  const Plan plan = MakeRowWisePlan(settings.embedding.physical, 1);
  const auto warning_of = [&](uint32_t hosts) {
    const Result<RunPrediction> prediction =
        PredictRun(settings, plan, {.hosts = hosts, .steps = 20, .samples = 20});
    EXPECT_OK(prediction);
    return prediction.value().warning;
  };
  EXPECT_EQ(warning_of(1), "");
  EXPECT_THAT(warning_of(3), HasSubstr("the network between 3 hosts is taken to be as fast as"));
}

TEST(PredictionToJson, HasEveryRankByName) {
  const nlohmann::json json = PredictionToJson(ReportOf(2, 2));
  EXPECT_EQ(json["steps"], 100);
  EXPECT_EQ(json["workers"][1]["name"], "worker 1 (rank 3 on a)");
  EXPECT_EQ(json["workers"][1]["step_ms"]["actual"], 11.0);
  EXPECT_EQ(json["workers"][1]["phases_ms"]["pull"]["predicted"], 9.0);
  EXPECT_EQ(json["ps_nodes"][1]["name"], "PS node 1 (rank 1 on a)");
  EXPECT_EQ(json["ps_nodes"][1]["bytes"]["actual"], 2e6);
  EXPECT_EQ(json["ps_nodes"][1]["busy_ms"]["actual"], 3.0);
}

}  // namespace
}  // namespace rowhouse
