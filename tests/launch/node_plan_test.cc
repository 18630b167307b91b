// What `rowhouse plan --sizes` says of PS nodes.
#include "launch/prediction/node_plan.h"

#include <fstream>

#include "launch/plan/plan.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using NodePlanJson = nlohmann::ordered_json;

Settings TwoTables() {
  Settings settings;
  settings.sparse_feature_size = 64;
  settings.model.bottom_mlp = {4, 64};
  settings.model.interaction = "cat";
  settings.tables.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    settings.tables[i].name = fmt::format("t{}", i);
    settings.tables[i].rows = 1'000'000;
    settings.tables[i].dim = 64;
  }
  settings.data_generation = "synthetic";
  settings.data.flags["zipf_exponent"] = "0";
  settings.data.data_size = 1'000'000;
  settings.data.mini_batch_size = 1000;
  settings.cluster.ps = 2;
  settings.storage.cache_mb = 1024;
  settings.Complete();
  return settings;
}

TEST(NodePlan, EachNodeHasItsPartOfTheRows) {
  const NodePlan plan = MakeNodePlan(TwoTables()).value();
  ASSERT_EQ(plan.nodes.size(), 2u);
  EXPECT_EQ(plan.workers, 2u);
  EXPECT_EQ(plan.nodes[0].rows, 1e6);
  EXPECT_EQ(plan.nodes[0].touched_rows, 1e6);
  EXPECT_NEAR(plan.nodes[0].step_rows, 1000, 1) << "of 1000 samples of two ids, on half the nodes";
  EXPECT_EQ(plan.nodes[1].disk.records, 272'000'000u);
  EXPECT_EQ(plan.nodes[1].memory_without_limit, plan.nodes[1].memory.total());
}

TEST(NodePlan, ARunTouchesTheRowsOfItsSamples) {
  const double touched = 1e6 * (1 - std::exp(-1.0));  // of each table
  EXPECT_NEAR(MakeNodePlan(TwoTables(), "run").value().nodes[0].touched_rows, touched, 1000);
  Settings settings = TwoTables();
  settings.data_generation = "dataset";
  const Status unread = MakeNodePlan(settings, "run").status();
  EXPECT_EQ(unread.exit_code(), 2);
  EXPECT_THAT(unread.message(), HasSubstr("--count_ids --out=FILE and give --access_counts=FILE"));
  EXPECT_EQ(MakeNodePlan(settings, "some").status().message(),
            "--touched_rows=some: expected all or run");

  AccessCounts counts;
  for (const char* name : {"t0", "t1"}) {
    counts.tables.push_back({.name = name,
                             .rows = 1'000'000,
                             .range_rows = 500'000,
                             .ranges = {1'000'000, 0},
                             .hottest = {}});
  }
  const TempDir dir;
  std::ofstream(dir / "counts.json") << counts.ToJson();
  settings.sharding.access_counts = dir / "counts.json";
  const NodePlan counted = MakeNodePlan(settings, "run").value();
  EXPECT_NEAR(counted.nodes[0].touched_rows + counted.nodes[1].touched_rows,
              1e6 * (1 - std::exp(-2.0)), 1000)
      << "half of the rows, each twice";
}

TEST(NodePlan, ALimitIsToldWithWhatItSavesAndWhatItRefuses) {
  Settings settings = TwoTables();
  settings.storage.memory_limit_mb = 128;
  NodePlan plan = MakeNodePlan(settings).value();
  EXPECT_LT(plan.fullest().memory.total(), uint64_t{128} << 20);
  EXPECT_GT(plan.fullest().memory_without_limit, uint64_t{256} << 20);
  EXPECT_EQ(plan.fullest().refusal, "");
  EXPECT_THAT(NodePlanText(plan), HasSubstr("with memory_limit_mb:             128 MiB, 32.0 MiB"));

  settings.data.mini_batch_size = 200'000;
  plan = MakeNodePlan(settings).value();
  EXPECT_THAT(plan.nodes[1].refusal, HasSubstr("a step pulls and pushes about"));
  EXPECT_THAT(NodePlanText(plan), HasSubstr("it would refuse the run: a step"));
}

TEST(NodePlan, JsonHasEveryPartInBytes) {
  Settings settings = TwoTables();
  const NodePlan plan = MakeNodePlan(settings).value();
  const NodePlanJson json = NodePlanToJson(plan);
  EXPECT_EQ(json["touched_rows"], "all");
  EXPECT_TRUE(json["memory_limit_bytes"].is_null());
  const NodePlanJson& memory = json["nodes"][1]["memory"];
  uint64_t sum = 0;
  for (const auto& [name, bytes] : memory.items()) {
    if (name != "total_bytes") sum += bytes.get<uint64_t>();
  }
  const uint64_t less = std::min(plan.nodes[1].memory.requests, plan.nodes[1].memory.unwritten);
  EXPECT_EQ(memory["total_bytes"], sum - less);
  EXPECT_EQ(json["nodes"][1]["disk"]["records_bytes"], 272'000'000);
  EXPECT_TRUE(json["nodes"][1]["refusal"].is_null());
}

TEST(NodePlan, TextSaysThePartsOfTheFullestNode) {
  const std::string text = NodePlanText(MakeNodePlan(TwoTables()).value());
  EXPECT_THAT(text, testing::StartsWith("PS node 0 of 2, with 2 workers, once it has touched "
                                        "1,000,000 of its 1,000,000 rows:\n\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\ncached rows +259 MiB  of 1,000,000 slots"));
  EXPECT_THAT(text, HasSubstr("peak memory of its process:"));
  EXPECT_THAT(text, HasSubstr("278 MiB compacted, for 259 MiB of records; 278 MiB at most"));
  EXPECT_THAT(text, HasSubstr("all 2 PS nodes:"));
}

TEST(NodePlanVerb, TouchedRowsGoWithSizes) {
  const Status refused = RunPlan(TwoTables(), {.wants_counts = true, .touched_rows = "run"});
  EXPECT_EQ(refused.exit_code(), 2);
  EXPECT_EQ(refused.message(), "--touched_rows=run is for sizes of PS nodes; say --sizes as well");
}

}  // namespace
}  // namespace rowhouse
