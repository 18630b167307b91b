// The regime experiment: its models, the rules of its classes, and a small run of all of it.
#include <functional>
#include <nlohmann/json.hpp>

#include "launch/regimes/local_model.h"
#include "launch/regimes/regime_evidence.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kCache = 16 << 20;

// A step of 100 us for 256 floats.
ConfigEvidence Dram() {
  return {.name = "micro_dlrm_dram",
          .place = "in process",
          .table_bytes = 100 * kCache,
          .batch = 256,
          .step_us = 100,
          .one_sample_us = 5,
          .lookups = 0.8,
          .mlp = 0.19,
          .other = 0.01,
          .by_row_width = {{64, 30}, {128, 53}, {256, 100}, {512, 195}},
          .by_mlp_width = {{1, 100}, {2, 107}, {4, 125}},
          .regime = "DRAM-bound"};
}

Regime Of(const ConfigEvidence& config) { return ClassOf(config, kCache).regime; }

TEST(RegimeClass, DramNeedsShareTableAndBothSweeps) {
  EXPECT_EQ(Of(Dram()), Regime::kDram);
  ConfigEvidence config = Dram();
  config.lookups = 0.69;
  EXPECT_EQ(Of(config), Regime::kMixed);
  config = Dram();
  config.table_bytes = 19 * kCache;
  EXPECT_EQ(Of(config), Regime::kMixed);
  config = Dram();
  config.by_row_width = {{64, 95}, {128, 102}, {256, 94}, {512, 99}};
  EXPECT_EQ(Of(config), Regime::kMixed) << "time does not follow the width of rows";
  config = Dram();
  config.by_mlp_width[1].step_us = 130;
  EXPECT_EQ(Of(config), Regime::kMixed) << "time follows the width of MLPs";
}

TEST(RegimeClass, TheOthersFollowFromShares) {
  ConfigEvidence config = Dram();
  config.mlp = 0.81;
  config.lookups = 0.15;
  EXPECT_EQ(Of(config), Regime::kCompute);
  config.one_sample_us = 60;
  EXPECT_EQ(Of(config), Regime::kCall) << "most of it is there with one sample";
  config.wire = 0.6;
  EXPECT_EQ(Of(config), Regime::kWire);
  config = Dram();
  config.table_bytes = kCache / 2;
  EXPECT_EQ(Of(config), Regime::kCache);
}

TEST(RegimeClass, ALineFitsWhatGrowsEvenly) {
  EXPECT_NEAR(LinearFitOf(std::vector<WidthTime>{{1, 3}, {2, 5}, {3, 7}}), 1.0, 1e-12);
  EXPECT_LT(LinearFitOf(std::vector<WidthTime>{{1, 3}, {2, 9}, {3, 4}}), 0.1);
  EXPECT_EQ(LinearFitOf(std::vector<WidthTime>{{1, 7}, {2, 5}, {3, 3}}), 0.0);
}

TEST(RegimeClass, AKneeIsWhereTheTimeIsBetweenBoth) {
  const std::vector<TableTime> times = {
      {1 << 20, 10}, {2 << 20, 10}, {4 << 20, 10}, {8 << 20, 40}, {16 << 20, 40}};
  EXPECT_NEAR(static_cast<double>(KneeOf(times)), 4.0 * 1.4142 * (1 << 20), 4096);
  EXPECT_EQ(KneeOf(std::vector<TableTime>{{1, 10}, {2, 11}, {4, 12}}), 0u) << "there is none";
}

RegimeEvidence Evidence() {
  return {.host = "h",
          .cpu = "c",
          .measured_at = "2025-01-31T12:00:00Z",
          .cores = 2,
          .effective_cache_bytes = kCache,
          .by_table = {{kCache / 2, 10}, {kCache * 2, 40}},  // its knee is between
          .lookups = {.rows = 8192,
                      .dram_256_ns = 120,
                      .cache_256_ns = 20,
                      .cache_8_ns = 4,
                      .dram_table_bytes = 100 * kCache,
                      .call_ns = 80},
          .configs = {Dram()}};
}

TEST(RegimeEvidence, SurvivesItsFile) {
  const auto json = nlohmann::json::parse(EvidenceToJson(Evidence()).dump());
  const Result<RegimeEvidence> read = EvidenceFromJson(json);
  ASSERT_OK(read);
  EXPECT_EQ(EvidenceToJson(read.value()).dump(), EvidenceToJson(Evidence()).dump());
  EXPECT_TRUE(Contradictions(read.value()).empty());
}

TEST(RegimeEvidence, WhatContradictsItIsNamed) {
  RegimeEvidence evidence = Evidence();
  evidence.lookups.dram_256_ns = 50;
  evidence.configs[0].lookups = 0.5;
  evidence.configs[0].other = 0.31;
  EXPECT_THAT(Contradictions(evidence),
              ElementsAre(HasSubstr("2.5 times slower from memory"),
                          HasSubstr("stated to be DRAM-bound, and its figures say mixed")));
  EXPECT_THAT(ContractMisses(evidence),
              ElementsAre("the original's contract says that micro_dlrm_dram is DRAM-bound; here "
                          "it is mixed"));
  EXPECT_TRUE(ContractMisses(Evidence()).empty());
}

TEST(RegimeEvidence, WhatProvesNothingIsNamed) {
  const auto faults = [](const std::function<void(RegimeEvidence*)>& change) {
    RegimeEvidence evidence = Evidence();
    change(&evidence);
    return Contradictions(evidence);
  };
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->configs.clear(); }),
              ElementsAre("no model was measured"));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->configs[0].other = 0.9; }),
              ElementsAre(HasSubstr("its shares make up 189 % of a step")));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->configs[0].by_mlp_width.clear(); }),
              ElementsAre(HasSubstr("its figures say mixed")));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->effective_cache_bytes = 1; }),
              ElementsAre(HasSubstr("stated to be 1 bytes")));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->by_table.clear(); }),
              ElementsAre(HasSubstr("have no knee")));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->configs[0].step_us = 20'000; }),
              ElementsAre(HasSubstr("none such is among its widths of rows")));
  EXPECT_THAT(faults([](RegimeEvidence* e) { e->lookups.cache_256_ns = 0; }),
              ElementsAre(HasSubstr("enlarge the table")));
}

TEST(RegimeEvidence, WhatWasNotMeasuredIsNotStated) {
  RegimeEvidence evidence = Evidence();
  ConfigEvidence& config = evidence.configs[0];
  config.one_sample_us = 0;
  config.by_row_width.clear();
  config.by_mlp_width.clear();
  config.why = ClassOf(config, kCache).why;
  EXPECT_THAT(config.why, HasSubstr("other widths were not measured"));
  const auto json = EvidenceToJson(evidence);
  for (const char* key : {"step_spread", "one_sample_us", "lookup_gbs", "by_row_width"}) {
    EXPECT_FALSE(json["configs"][0].contains(key)) << key;
  }
  EXPECT_OK(EvidenceFromJson(nlohmann::json::parse(json.dump())));
}

TEST(RegimeEvidence, OtherFilesAreRefusedByName) {
  EXPECT_EQ(EvidenceFromJson(nlohmann::json::object()).status().code(), StatusCode::kUsage);
  auto json = nlohmann::json::parse(EvidenceToJson(Evidence()).dump());
  json["rowhouse_regimes"] = 2;
  EXPECT_THAT(EvidenceFromJson(json).status().message(), HasSubstr("format 2"));
  json["rowhouse_regimes"] = 1;
  json["configs"][0]["step_us"] = "fast";
  EXPECT_THAT(EvidenceFromJson(json).status().message(),
              HasSubstr("configs[0].step_us is \"fast\"; expected a number"));
  json["configs"][0]["step_us"] = 100;
  json["configs"][0].erase("shares");
  EXPECT_THAT(EvidenceFromJson(json).status().message(), HasSubstr("configs[0].shares is missing"));
}

// ---- The models ---------------------------------------------------------------------------------

TEST(RegimeModel, TheOriginalsSizes) {
  const Settings small = SettingsOf(MicroDlrm()).value();
  const Settings dram = SettingsOf(MicroDlrmDram(2'000'000)).value();
  EXPECT_EQ(LocalModel::FloatsOf(small), (943u + 1682u + 21u) * 8u);
  EXPECT_EQ(LocalModel::FloatsOf(dram), 512'000'000u);
}

TEST(RegimeModel, BagsHaveTheirLength) {
  const Batch batch = SamplesOf(MicroDlrmDramBags(1000), 4, 0);
  for (const Bags& bags : batch.features) {
    EXPECT_EQ(bags.ids.size(), 128u);
    EXPECT_EQ(bags.samples(), 4u);
  }
}

TEST(LocalModel, LearnsFromRowsInMemory) {
  RegimeModel model = MicroDlrmDram(1000);
  model.batch = 64;
  const Settings settings = SettingsOf(model).value();
  std::vector<float> memory(LocalModel::FloatsOf(settings), 0.01f);
  const std::vector<float> before = memory;
  LocalModel local(settings, memory);
  const Batch batch = SamplesOf(model, model.batch, 0);
  for (int step = 0; step < 3; ++step) {
    const Result<LocalTimes> times = local.Step(batch);
    ASSERT_OK(times);
    EXPECT_GT(times.value().lookups, 0.0);
    EXPECT_GT(times.value().mlp, 0.0);
  }
  EXPECT_NE(memory, before);
  EXPECT_EQ(local.lookup_bytes(64), 64u * 3u * 1024u);
}

TEST(LookupTiming, TakesTimeForAnyNumberOfRows) {
  const std::vector<float> memory(1000 * 8, 0.5f);
  LookupTiming timing(memory, 1000, 8);
  EXPECT_GT(timing.CallNs(1), 0.0);
  EXPECT_GT(timing.MedianNs(100, 3), 0.0);
  EXPECT_EQ(timing.bytes(), 32000u);
}

}  // namespace
}  // namespace rowhouse
