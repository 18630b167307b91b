#include "launch/lab/what_if.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

CommandLine WhatIfPlanLine(std::vector<const char*> flags) {
  std::vector<const char*> argv = {"rowhouse",
                                   "plan",
                                   "--arch_embedding_size=5000-300",
                                   "--arch_sparse_feature_size=16",
                                   "--arch_mlp_bot=4-16",
                                   "--arch_mlp_top=8-1",
                                   "--mini_batch_size=128",
                                   "--data_generation=synthetic",
                                   "--calibration=typical"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const auto command_line = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  EXPECT_OK(command_line);
  return command_line.value();
}

std::vector<WhatIfAxis> AxesOf(const std::string& text) {
  const auto axes = WhatIfAxesOf(text, Settings());
  EXPECT_OK(axes);
  return axes.value();
}

std::string WhatIfErrorOf(const std::string& text) {
  const auto axes = WhatIfAxesOf(text, Settings());
  EXPECT_EQ(axes.status().code(), StatusCode::kUsage);
  return axes.status().message();
}

TEST(WhatIf, AxesAreReadAndBounded) {
  const std::vector<WhatIfAxis> axes = AxesOf("strategy=row_wise,fair; cache-mb=64,64,256");
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[1].name, "cache_mb");
  EXPECT_THAT(axes[1].values, testing::ElementsAre("64", "256"));
  EXPECT_EQ(AxesOf("-").size(), 3u) << "the default";
  EXPECT_EQ(AxesOf("-")[0].values, AxesOf("strategy=all")[0].values);
  EXPECT_THAT(WhatIfErrorOf("cache_mb"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(WhatIfErrorOf("=1"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(WhatIfErrorOf("cache_bm=1"), HasSubstr("did you mean cache_mb?"));
  EXPECT_THAT(WhatIfErrorOf("kindd=qr"), HasSubstr("did you mean kind?"));
  EXPECT_THAT(WhatIfErrorOf("ps=1 ps=2"), HasSubstr("ps is named twice"));
  EXPECT_THAT(WhatIfErrorOf("ps=1,,2"), HasSubstr("a value is empty"));
  std::string many = "ps=1";
  for (int i = 2; i < 40; ++i) many += fmt::format(",{}", i);
  std::string shards = "shards=1";
  for (int i = 2; i < 40; ++i) shards += fmt::format(",{}", i);
  EXPECT_THAT(WhatIfErrorOf(many + " " + shards), HasSubstr("1521 combinations"));
}

TEST(WhatIf, PredictsEveryCombinationTheFastestFirst) {
  const auto asked = AskWhatIf(WhatIfPlanLine({}), AxesOf("strategy=row_wise,fair ps=1,2 "
                                                          "mini_batch_size=64,128"));
  ASSERT_OK(asked);
  const WhatIf& what_if = asked.value();
  ASSERT_EQ(what_if.rows.size(), 8u);
  std::set<std::vector<std::string>> seen;
  for (size_t i = 0; i < 8; ++i) {
    const WhatIfRow& row = what_if.rows[i];
    seen.insert(row.values);
    ASSERT_EQ(row.refusal, "");
    EXPECT_GT(row.cost.ms, 0.0);
    EXPECT_EQ(std::to_string(row.samples), row.values[2]);
    EXPECT_EQ(std::to_string(row.cost.ps.size()), row.values[1]);
    EXPECT_GE(row.us_per_sample(), what_if.rows[i == 0 ? 0 : i - 1].us_per_sample());
  }
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_EQ(std::ranges::count(what_if.rows, true, &WhatIfRow::is_as_configured), 1);
  EXPECT_THAT(FiguresAsText(WhatIfFigures(what_if)), HasSubstr("as configured"));
  EXPECT_EQ(WhatIfFigures(what_if).json["rows"].size(), 8u);
}

TEST(WhatIf, WhatCannotBeIsSaid) {
  const auto asked =
      AskWhatIf(WhatIfPlanLine({"--optimizer=rowwise_adagrad", "--arch_sparse_feature_size=32",
                                "--arch_mlp_bot=4-32"}),
                AxesOf("strategy=row_wise,column_wise,auto ps=2"));
  ASSERT_OK(asked);
  ASSERT_EQ(asked.value().rows.size(), 3u);
  EXPECT_EQ(asked.value().rows[1].refusal, "");
  const WhatIfRow& last = asked.value().rows.back();
  EXPECT_EQ(last.values[0], "column_wise");
  EXPECT_THAT(last.refusal, HasSubstr("column"));
  EXPECT_THAT(FiguresAsText(WhatIfFigures(asked.value())), HasSubstr("1 combination cannot be: "));
  EXPECT_THAT(FiguresAsText(WhatIfFigures(asked.value())), HasSubstr("\n  strategy=column_wise\n"));
}

TEST(WhatIf, AnUnknownValueIsAMistakeOfAll) {
  EXPECT_THAT(WhatIfErrorOf("strategy=foo"),
              HasSubstr("--what_if: strategy=foo: unknown strategy"));
  EXPECT_THAT(WhatIfErrorOf("strategy=row_wisely"), HasSubstr("Did you mean \"row_wise\"?"));
  EXPECT_THAT(AskWhatIf(WhatIfPlanLine({}), AxesOf("ps=none")).status().message(),
              HasSubstr("--ps=none (--what_if)"));
  EXPECT_THAT(AskWhatIf(WhatIfPlanLine({}), AxesOf("network_gbits=10,nan")).status().message(),
              HasSubstr("--network_gbits=nan (--what_if): expected 0, or a number from 0.001"));
  EXPECT_EQ(AskWhatIf(WhatIfPlanLine({}), AxesOf("kind=plain,none")).status().exit_code(), 2);
}

TEST(WhatIf, WhatIsTheSameForAllCombinationsIsNoAxis) {
  for (const char* const flag : {"trace", "calibration", "config", "json", "html", "out", "reports",
                                 "what_if", "strategies", "simulate", "max_samples"}) {
    EXPECT_THAT(
        WhatIfErrorOf(fmt::format("{}=1", flag)),
        HasSubstr(fmt::format("{0} is the same for all combinations; give it as --{0}", flag)));
  }
}

TEST(WhatIf, NothingThatCanBeIsAMistake) {
  const auto asked = AskWhatIf(WhatIfPlanLine({}), AxesOf("strategy=replicated+bags"));
  EXPECT_EQ(asked.status().exit_code(), 2);
  EXPECT_THAT(asked.status().message(), HasSubstr("none of 1 combination can be: "));
}

TEST(WhatIf, ThePlanOfTheRunKeepsToTheLimitsOfANode) {
  const auto asked =
      AskWhatIf(WhatIfPlanLine({"--ps=2", "--arch_embedding_size=1000000-300", "--store=memory"}),
                AxesOf("ps_memory_mb=1,100000"));
  ASSERT_OK(asked);
  EXPECT_EQ(asked.value().rows[0].values[0], "100000");
  EXPECT_EQ(asked.value().rows[0].refusal, "");
  EXPECT_THAT(asked.value().rows[1].refusal, HasSubstr("(--ps_memory_mb=1"));
}

TEST(WhatIf, ThePlannersPlanIsForTheClusterThatIsAskedAbout) {
  const auto by_plan = AskWhatIf(
      WhatIfPlanLine({"--plan=auto", "--ps=2", "--workers=4", "--hosts=2"}), AxesOf("shards=1"));
  const auto by_strategy = AskWhatIf(WhatIfPlanLine({"--ps=2", "--workers=4", "--hosts=2"}),
                                     AxesOf("strategy=auto shards=1"));
  ASSERT_OK(by_plan);
  ASSERT_OK(by_strategy);
  EXPECT_DOUBLE_EQ(by_plan.value().rows[0].cost.ms, by_strategy.value().rows[0].cost.ms);
}

TEST(WhatIf, ATraceIsReadAnewForOtherTables) {
  const TempDir dir;
  std::ofstream(dir / "t") << "t0 7\nt1 8\nt0 4000\nt1 299\n";
  const std::string trace = "--trace=" + dir / "t";
  for (const char* const axes : {"qr_flag=false,true", "kind=qr qr_threshold=100,1000000"}) {
    const auto asked = AskWhatIf(WhatIfPlanLine({trace.c_str()}), AxesOf(axes));
    ASSERT_OK(asked);
    std::set<size_t> tables;
    for (const WhatIfRow& row : asked.value().rows) {
      EXPECT_EQ(row.refusal, "");
      tables.insert(row.cost.tables.size());
    }
    EXPECT_THAT(tables, testing::ElementsAre(2, 4)) << axes;
  }
}

TEST(WhatIf, ATraceThatLacksTablesSaysSo) {
  const TempDir dir;
  std::ofstream(dir / "t") << "t0 7\nt0 4000\n";
  const std::string trace = "--trace=" + dir / "t";
  const auto asked = AskWhatIf(WhatIfPlanLine({trace.c_str()}), AxesOf("ps=1"));
  ASSERT_OK(asked);
  EXPECT_THAT(asked.value().ids, HasSubstr("ids as traced; no lookups of table t1; the trace has 2 "
                                           "samples, fewer than a step"));
  EXPECT_THAT(AskWhatIf(WhatIfPlanLine({trace.c_str(), "--max_samples=0"}), AxesOf("ps=1"))
                  .status()
                  .message(),
              HasSubstr("--max_samples=0: expected"));
}

TEST(WhatIf, AsConfiguredIsWhatTheSettingsMean) {
  const auto asked =
      AskWhatIf(WhatIfPlanLine({"--cache_mb=1024"}), AxesOf("cache_mb=64,1GB workers=1,2"));
  ASSERT_OK(asked);
  for (const WhatIfRow& row : asked.value().rows) {
    EXPECT_EQ(row.is_as_configured, row.values == std::vector<std::string>({"1GB", "1"}));
  }
}

TEST(WhatIf, KindsAreThoseOfLargePlainTables) {
  const auto asked = AskWhatIf(WhatIfPlanLine({}), AxesOf("kind=plain,qr"));
  ASSERT_OK(asked);
  ASSERT_EQ(asked.value().rows.size(), 2u);
  for (const WhatIfRow& row : asked.value().rows) {
    EXPECT_EQ(row.refusal, "");
    EXPECT_EQ(row.cost.tables.size(), row.values[0] == "qr" ? 4u : 2u);
  }
}

TEST(WhatIf, KindsWithRowsOrColumnsToChooseTakeAQuarter) {
  const auto asked = AskWhatIf(WhatIfPlanLine({}), AxesOf("kind=hashed,block"));
  ASSERT_OK(asked);
  std::set<std::string> options;
  for (const WhatIfRow& row : asked.value().rows) {
    EXPECT_EQ(row.refusal, "");
    options.insert(row.kind_options);
  }
  EXPECT_THAT(options, testing::ElementsAre("block_dim=4", "buckets=rows/4"));
  EXPECT_THAT(FiguresAsText(WhatIfFigures(asked.value())), HasSubstr("buckets=rows/4"));
}

TEST(WhatIf, SaysWhatEachCombinationSavesAndHowManyThereAre) {
  WhatIf what_if{.axes = {{"cache_mb", {"64", "256"}}, {"ps", {}}}};
  for (int ps = 1; ps <= 22; ++ps) {
    what_if.axes[1].values.push_back(std::to_string(ps));
    what_if.rows.push_back({.values = {"64", std::to_string(ps)}, .samples = 1});
    what_if.rows.back().cost.ms = ps;
  }
  what_if.rows.back().is_as_configured = true;
  const std::string text = FiguresAsText(WhatIfFigures(what_if));
  EXPECT_THAT(text, HasSubstr("\n64        11         50.0 %     11.000"));
  EXPECT_THAT(text, HasSubstr("\n64        22  as configured     22.000"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\n64        21")));
  EXPECT_THAT(text, HasSubstr("\nthe best 20 of 22; --json has all\n"));
  EXPECT_EQ(WhatIfFigures(what_if).json["rows"].size(), 22u);
}

}  // namespace
}  // namespace rowhouse
