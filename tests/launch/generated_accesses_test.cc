// What the source of generated ids knows of them, against counting them.

#include <algorithm>
#include <numeric>

#include "launch/prediction/id_counting.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Settings Read(const std::string& data) {
  Settings settings;
  const Status status = ReadYamlText(R"(
model: {arch_mlp_bot: [5, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8}
training: {mini_batch_size: 512}
tables:
  list:
  - {name: small, rows: 50}
  - {name: large, rows: 300000}
  - {name: padded, rows: 200, padding_id: 7}
  - {name: hashed, rows: 5000, kind: hashed, buckets: 400}
  - {name: qr, rows: 1000, kind: qr, collisions: 4}
  - {name: learned, rows: 30, weighted_pooling: learned}
)" + data,
                                     "test.yaml", &settings);
  CHECK(status.ok()) << status.message();
  settings.Complete();
  const Status valid = settings.Validate();
  CHECK(valid.ok()) << valid.message();
  return settings;
}

double ShareOf(const TableAccesses& table, size_t hottest) {
  double lookups = 0;
  for (size_t i = 0; i < std::min(hottest, table.hottest.size()); ++i) {
    lookups += static_cast<double>(table.hottest[i].count);
  }
  return lookups / static_cast<double>(table.total());
}

TEST(GeneratedAccesses, AreThoseThatCountingFinds) {
  const Settings settings = Read(
      "data: {data_generation: synthetic, data_size: 20000, synthetic_bag_length: 5, "
      "zipf_exponent: 1.2}");
  const std::optional<AccessCounts> known = GeneratedAccesses(settings);
  ASSERT_TRUE(known);
  const AccessCounts counted = CountIds(settings, /*max_samples=*/0).value().counts;
  ASSERT_EQ(known->tables.size(), counted.tables.size());
  for (size_t t = 0; t < counted.tables.size(); ++t) {
    const TableAccesses &is = known->tables[t], &expected = counted.tables[t];
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(is.name, expected.name);
    EXPECT_EQ(is.rows, expected.rows);
    EXPECT_EQ(is.hottest[0].row, expected.hottest[0].row);
    EXPECT_EQ(is.hottest[1].row, expected.hottest[1].row);
    EXPECT_NEAR(ShareOf(is, 1), ShareOf(expected, 1), 0.02);
    EXPECT_NEAR(ShareOf(is, 20), ShareOf(expected, 20), 0.04);
    for (const TableAccesses::Row& hot : is.hottest) EXPECT_LT(hot.row, is.rows);
  }
}

TEST(GeneratedAccesses, OfIdsThatAreEvenlySpreadOrReadAreNone) {
  EXPECT_FALSE(GeneratedAccesses(
      Read("data: {data_generation: synthetic, data_size: 100, zipf_exponent: 0}")));
  EXPECT_FALSE(GeneratedAccesses(Read("data: {data_size: 100}")));
}

TEST(GeneratedAccesses, LetSkewAwarePlanWithoutCounting) {
  Settings settings =
      Read("data: {data_generation: synthetic, data_size: 100, zipf_exponent: 1.2}");
  settings.sharding.strategy = "skew_aware";
  const Plan plan = PlanOf(settings, /*nodes=*/2, /*shards_per_node=*/1).value();
  const auto hot = plan.worker_rows(TableId{1});
  ASSERT_FALSE(hot.empty());
  const uint64_t hottest = DeclarationOfDataset("synthetic").hottest_ids(settings.data, 1, 1).at(0);
  EXPECT_TRUE(std::ranges::binary_search(hot, RowId{hottest}));
}

}  // namespace
}  // namespace rowhouse
