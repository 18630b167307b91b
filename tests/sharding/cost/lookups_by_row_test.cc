#include "sharding/lab/traffic/lookups_by_row.h"

#include "sharding/lab/cost/step_cost.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Rows 0 to 9 have 900 of 1000 lookups: row 0 alone 400, row 5 alone 100; rows 90 to 99 the rest.
TableAccesses HotRowsTogether() {
  TableAccesses counted{.name = "t", .rows = 100, .range_rows = 10, .ranges = {}, .hottest = {}};
  counted.ranges.assign(10, 0);
  counted.ranges[0] = 900;
  counted.ranges[9] = 100;
  counted.hottest = {{0, 400}, {5, 100}};
  return counted;
}

TEST(LookupsByRow, RangesHaveTheirLookups) {
  const LookupsByRow by_row(HotRowsTogether(), /*lookups=*/100);
  EXPECT_NEAR(by_row.Of(0, 100, {}).lookups, 1000, 1e-9);
  EXPECT_NEAR(by_row.Of(0, 10, {}).lookups, 900, 1e-9);
  EXPECT_NEAR(by_row.Of(10, 90, {}).lookups, 0, 1e-9);
  EXPECT_NEAR(by_row.Of(95, 100, {}).lookups, 50, 1e-9);
  EXPECT_NEAR(by_row.Of(0, 1, {}).lookups, 400 + 40, 1e-9) << "a tenth of the range's other rows";
}

TEST(LookupsByRow, ARowIsDistinctOnce) {
  const LookupsByRow by_row(HotRowsTogether(), /*lookups=*/1e6);
  EXPECT_NEAR(by_row.Of(0, 10, {}).distinct_rows, 10, 1e-6);
  EXPECT_NEAR(by_row.Of(0, 100, {}).distinct_rows, 20, 1e-6);
}

TEST(LookupsByRow, RowsOnTheWorkersAreNotCounted) {
  const LookupsByRow by_row(HotRowsTogether(), /*lookups=*/100);
  const std::vector<RowId> gone = {RowId{0}, RowId{92}};
  EXPECT_NEAR(by_row.Of(0, 10, gone).lookups, 500, 1e-9);
  EXPECT_NEAR(by_row.Of(90, 100, gone).lookups, 90, 1e-9);
}

// The step of one table of 100 rows, counted as above.
Workload CountedWorkload() {
  LogicalTable table;
  table.name = "t";
  table.rows = 100;
  table.dim = 16;
  Workload workload;
  workload.tables = EmbeddingTables::Make({table}).value();
  workload.step = {.samples = 50, .workers = 1};
  workload.step.bag_lengths = {2};
  workload.lookups = {2};
  AccessCounts counts;
  counts.tables = {HotRowsTogether()};
  workload.of_table = {IdDistribution::Counted(counts.tables[0])};
  workload.accesses = std::make_shared<const AccessCounts>(counts);
  SpreadByRow(&workload);
  return workload;
}

Plan OnTwoShards(const Workload& workload, const std::string& strategy) {
  return MakePlan(workload.tables, {.shards = 2, .strategy = strategy, .options = {}}).value();
}

std::vector<double> PartsOfLookups(const Workload& workload, const std::string& strategy) {
  const StepTraffic traffic = TrafficOfStep(workload, OnTwoShards(workload, strategy));
  double pulled = 0;
  for (const ShardTraffic& shard : traffic.shards) pulled += shard.rows_pulled;
  EXPECT_NEAR(pulled, traffic.tables[0].distinct_rows, 1e-6);
  return {traffic.shards[0].accesses / 100, traffic.shards[1].accesses / 100};
}

TEST(StepTraffic, ASliceHasTheLookupsOfItsRows) {
  const Workload workload = CountedWorkload();
  EXPECT_THAT(PartsOfLookups(workload, "row_wise"),
              testing::ElementsAre(testing::DoubleNear(0.9, 1e-6), testing::DoubleNear(0.1, 1e-6)));
  EXPECT_THAT(PartsOfLookups(workload, "row_wise_hashed"), testing::ElementsAre(0.5, 0.5))
      << "scattered";
}

TEST(StepTraffic, RowsOfSlicesAreThoseOfTheirShards) {
  const Workload workload = CountedWorkload();
  const StepTraffic traffic = TrafficOfStep(workload, OnTwoShards(workload, "row_wise"));
  ASSERT_EQ(traffic.pulled.size(), 2u);
  for (const PulledRows& pulled : traffic.pulled) {
    EXPECT_EQ(pulled.rows, traffic.shards[Raw(pulled.shard)].rows_pulled);
    EXPECT_EQ(pulled.columns, 16u);
  }
}

TEST(StepTraffic, OfALargerStepIsSpreadByTheLookupsOfThatStep) {
  Workload workload = CountedWorkload();
  SetStep(/*samples=*/50'000, /*workers=*/1, &workload);
  const StepTraffic traffic = TrafficOfStep(workload, OnTwoShards(workload, "row_wise"));
  EXPECT_NEAR(traffic.shards[0].rows_pulled, 10, 1e-3);
  EXPECT_NEAR(traffic.shards[1].rows_pulled, 10, 1e-3);
}

TEST(StepTraffic, TablesThatAreNotSpreadByRowStaySoInAnotherStep) {
  Workload workload = CountedWorkload();
  SpreadByRow(&workload, {true});
  SetStep(100, 1, &workload);
  ASSERT_NE(workload.by_row, nullptr);
  EXPECT_FALSE((*workload.by_row)[0].has_value());
  workload.by_row = nullptr;
  SetStep(50, 1, &workload);
  EXPECT_EQ(workload.by_row, nullptr) << "counts whose places are not known";
}

// Of the hot slice's 90 % of the lookups most mean the same few rows again.
TEST(StepTraffic, BagsOfASliceHaveTheDistinctRowsThatTheSliceHas) {
  Workload workload = CountedWorkload();
  workload.tables.features[0].table.pooling_sum = "exact";
  SetStep(/*samples=*/50'000, /*workers=*/1, &workload);
  const Plan plan =
      MakePlan(workload.tables,
               {.shards = 2, .strategy = "row_wise", .options = {}, .pool_on = "shards"})
          .value();
  ASSERT_TRUE(plan.pools_on_shards(TableId{0}));
  const StepTraffic traffic = TrafficOfStep(workload, plan);
  EXPECT_NEAR(traffic.shards[0].bag_lookups, 90'000, 1);
  EXPECT_NEAR(traffic.shards[1].bag_lookups, 10'000, 1);
  for (const ShardTraffic& shard : traffic.shards) EXPECT_NEAR(shard.bag_rows, 10, 1e-3);
}

// The node of the cold rows pulls 39 % of the rows; half of the hits would be more than that.
TEST(StepCost, HitsOfNodesAreAmongTheRowsThatTheyPull) {
  Workload workload = CountedWorkload();
  workload.steps = 10;
  workload.storage.cache_bytes = uint64_t{1} << 30;
  workload.data_source = "synthetic";
  workload.dense = {.bottom = {13, 16},
                    .top = {16, 1},
                    .interaction = "dot",
                    .vectors = 2,
                    .width = 16,
                    .optimizer = "sgd",
                    .parameters = 300};
  const StepCost cost =
      PredictStep(workload, OnTwoShards(workload, "row_wise"), {.ps = 2}, Machine::Typical())
          .value();
  ASSERT_EQ(cost.ps.size(), 2u);
  EXPECT_GT(cost.hit_rate, 0.8);
  double rows = 0, hits = 0;
  for (const RankCost& node : cost.ps) {
    EXPECT_GE(node.hit_rate, 0);
    EXPECT_LE(node.hit_rate, 1);
    rows += node.rows_pulled;
    hits += node.rows_pulled * node.hit_rate;
  }
  EXPECT_NEAR(hits, cost.hit_rate * rows, 1e-6);
}

}  // namespace
}  // namespace rowhouse
