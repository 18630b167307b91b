// What a plan moves, in words and as JSON.
#include "launch/prediction/traffic_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/prediction/id_counting.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/yaml_config.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// DLRM's three default tables, of 4, 3 and 2 rows.
Settings TrafficReportSample() {
  Settings settings;
  settings.Complete();
  return settings;
}

std::vector<TableTraffic> ThreeTables() {
  return {{.table = TableId{0},
           .lookups = 300,
           .distinct_rows = 200,
           .by_rows = 4096,
           .by_bags = 1024,
           .refusal = {}},
          {.table = TableId{1},
           .lookups = 300,
           .distinct_rows = 3,
           .by_rows = 128,
           .by_bags = 1024,
           .refusal = {},
           .pools_on_shards = true},
          {.table = TableId{2},
           .lookups = 5,
           .distinct_rows = 5,
           .by_rows = 64,
           .refusal = "its rows have max_norm"}};
}

TEST(TrafficReport, BagsAreAsLongAsTheDataSourceMakesThem) {
  Settings settings = TrafficReportSample();
  settings.data.mini_batch_size = 32;
  settings.training.accumulation = 4;
  settings.data.flags["num_indices_per_lookup"] = "100";
  settings.data.flags["num_indices_per_lookup_fixed"] = "true";
  StepShape step = StepShapeOf(settings, 3);
  EXPECT_EQ(step.samples, 128u);
  EXPECT_EQ(step.workers, 3u);
  EXPECT_EQ(step.bag_lengths, (std::vector<double>{100, 100, 100}));
  settings.data.flags["num_indices_per_lookup_fixed"] = "false";
  EXPECT_EQ(StepShapeOf(settings, 1).bag_lengths, (std::vector<double>{2, 1.5, 1}))
      << "drawn up to the rows of the table";
  settings.data_generation = "synthetic";
  settings.data.flags["synthetic_bag_length"] = "4";
  EXPECT_EQ(StepShapeOf(settings, 1).bag_lengths, (std::vector<double>{4, 4, 4}));
  settings.data.flags["synthetic_bag_fixed"] = "false";
  EXPECT_EQ(StepShapeOf(settings, 1).bag_lengths, (std::vector<double>{2.5, 2.5, 2.5}));
  settings.data_generation = "dataset";
  EXPECT_EQ(StepShapeOf(settings, 1).bag_lengths, (std::vector<double>{1, 1, 1}));
}

// Rows that an epoch's first steps touch, counted as a worker resolves them, over what is expected.
// The largest and the least of all tables.
std::pair<double, double> ExpectedOverCounted(const Settings& settings) {
  constexpr uint64_t kSteps = 2;
  CHECK(settings.Validate().ok());
  const StepShape step = StepShapeOf(settings, 1);
  const IdCounts counts = CountIds(settings, kSteps * step.samples).value();
  const Plan plan = MakePlan(settings.embedding, {.shards = 2}).value();
  std::pair<double, double> ratios = {HUGE_VAL, 0.0};
  for (const TableTraffic& table : TrafficOfRun(settings, plan, /*workers=*/1).value()) {
    const double counted = static_cast<double>(counts.rows_pulled[Raw(table.table)]) / kSteps;
    const double ratio = table.distinct_rows / counted;
    ratios = {std::min(ratios.first, ratio), std::max(ratios.second, ratio)};
  }
  return ratios;
}

TEST(TrafficReport, KnowsHowSyntheticIdsAreSpread) {
  Settings settings;
  ASSERT_OK(ReadYamlConfig(ROWHOUSE_SOURCE_DIR "/configs/strategies.yaml", &settings));
  settings.Complete();
  const auto [least, most] = ExpectedOverCounted(settings);
  EXPECT_GT(least, 0.95);
  EXPECT_LT(most, 1.05);
  settings.data_generation = "dataset";
  EXPECT_EQ(StepShapeOf(settings, 1).zipf_exponent, 0.0);
}

// Of kinds whose rows stand for several ids.
TEST(TrafficReport, KnowsRoughlyWhatKindsMakeOfSpreadIds) {
  Settings settings;
  ASSERT_OK(ReadYamlText(R"(
model: {arch_mlp_bot: [5, 8], arch_mlp_top: [8, 1], arch_sparse_feature_size: 8}
data: {data_generation: synthetic, data_size: 4000, synthetic_bag_length: 5, zipf_exponent: 1.1}
training: {mini_batch_size: 500}
tables:
  list:
  - {name: hashed, rows: 30000, kind: hashed, buckets: 2000}
  - {name: qr, rows: 30000, kind: qr, collisions: 20}
  - {name: shared_1, rows: 9000, share: ids}
  - {name: shared_2, rows: 9000, share: ids}
  - {name: mixed, rows: 9000, kind: mixed, row_dim: 4}
)",
                         "kinds.yaml", &settings));
  settings.Complete();
  const auto [least, most] = ExpectedOverCounted(settings);
  EXPECT_GT(least, 0.75);
  EXPECT_LT(most, 1.25);
}

TEST(TrafficReport, LookupsAreDividedAmongGroups) {
  for (const double exponent : {0.0, 1.05}) {
    Settings settings;
    ASSERT_OK(ReadYamlText(fmt::format(R"(
model: {{arch_mlp_bot: [5, 16], arch_mlp_top: [8, 1], arch_sparse_feature_size: 16}}
data: {{data_generation: synthetic, synthetic_bag_length: 8, zipf_exponent: {}}}
training: {{mini_batch_size: 100}}
tables: {{rows: [100000], defaults: {{kind: grouped, groups: 4}}}}
)",
                                       exponent),
                           "groups.yaml", &settings));
    settings.Complete();
    ASSERT_OK(settings.Validate());
    const Plan plan = MakePlan(settings.embedding, {}).value();
    const auto traffic = TrafficOfRun(settings, plan, /*workers=*/1).value();
    ASSERT_EQ(traffic.size(), 4u);
    for (const TableTraffic& of_group : traffic) {
      EXPECT_NEAR(of_group.lookups, 200, exponent > 0 ? 120 : 10);
      EXPECT_LT(of_group.distinct_rows, 400);
      EXPECT_GT(of_group.distinct_rows, 25);
    }
  }
}

TEST(TrafficReport, TheTableSaysWhichIsLess) {
  EXPECT_EQ(TrafficText(TrafficReportSample().embedding, ThreeTables()),
            "Bytes a step between workers and shards, estimated: 5.06 KiB as planned\n\n"
            "table  lookups  distinct rows  merged rows      bags  less  pool_on\n"
            "t0         300            200     4.00 KiB  1.00 KiB  bags  workers\n"
            "t1         300              3        128 B  1.00 KiB  rows  shards\n"
            "t2           5              5         64 B         -  rows  workers\n");
}

TEST(TrafficReport, HintsNameTablesThatWouldMoveLessTheOtherWay) {
  const EmbeddingTables tables = TrafficReportSample().embedding;
  std::vector<TableTraffic> traffic = ThreeTables();
  EXPECT_EQ(TrafficHints(tables, traffic),
            "pooling: of table (t1) bags move about 1.00 KiB a step, merged rows would move 128 B "
            "(an estimate); pool_on=workers saves it\n"
            "pooling: of table (t0) merged rows move about 4.00 KiB a step, bags would move 1.00 "
            "KiB (an estimate); pool_on=shards saves it\n");
  traffic[0].by_bags = 2048;  // Half is no reason: the estimate is one of ids spread evenly.
  traffic[1].by_rows = 1024;
  EXPECT_EQ(TrafficHints(tables, traffic), "");
  traffic[2] = traffic[1] = ThreeTables()[0];
  EXPECT_THAT(TrafficHints(tables, traffic), testing::HasSubstr("2 tables (t0, t0) merged"));
}

TEST(TrafficReport, AsJsonWhatCannotBePooledIsNull) {
  const auto json = TableAsJson(TrafficTable(TrafficReportSample().embedding, ThreeTables()));
  EXPECT_EQ(json[1].dump(), R"({"name":"t1","lookups":300.0,"distinct_rows":3.0,"by_rows":128.0,)"
                            R"("by_bags":1024.0,"pool_on":"shards"})");
  EXPECT_TRUE(json[2]["by_bags"].is_null());
}

}  // namespace
}  // namespace rowhouse
