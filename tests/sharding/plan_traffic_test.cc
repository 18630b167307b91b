// Bytes a step of each table by arithmetic, against sums done by hand.
#include <cmath>

#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

LogicalTable PlanTrafficTable(const std::string& name, uint64_t rows, uint32_t dim) {
  LogicalTable table;
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  return table;
}

// One feature, all of whose rows are looked up equally often.
std::vector<TableTraffic> TrafficOfEach(const LogicalTable& table, const PlanOptions& options,
                                        const StepShape& step) {
  Workload workload;
  workload.tables = EmbeddingTables::Make({table}).value();
  workload.step = step;
  for (const TableSpec& physical : workload.tables.physical) {
    workload.of_table.push_back(IdDistribution::Uniform(static_cast<double>(physical.rows)));
    workload.lookups.push_back(step.bag_lengths[0]);
  }
  return TrafficOfTables(workload, MakePlan(workload.tables, options).value());
}

TableTraffic TrafficOfOne(const LogicalTable& table, const PlanOptions& options,
                          const StepShape& step) {
  const auto all = TrafficOfEach(table, options, step);
  CHECK_EQ(all.size(), 1u);
  return all[0];
}

constexpr StepShape kDlrm = {.samples = 2048, .workers = 1, .bag_lengths = {}};

StepShape DlrmStep() {
  StepShape step = kDlrm;
  step.bag_lengths = {100.0};
  return step;
}

TEST(PlanTraffic, BagsOfAHundredInDlrmsBenchmarkMoveAFewPercentOfTheirRows) {
  const LogicalTable table = PlanTrafficTable("t", 1000000, 64);
  const TableTraffic whole = TrafficOfOne(
      table, {.shards = 4, .strategy = "table_wise_lpt", .pool_on = "shards"}, DlrmStep());
  EXPECT_EQ(whole.lookups, 204800.0);
  // A row: id 8, count 4, values 256; id 8, gradient 256. A bag: 100 ids of 4, length 4, sum 256;
  // gradient 256.
  EXPECT_NEAR(whole.by_rows, 185189.82 * 532, 100.0);
  EXPECT_DOUBLE_EQ(whole.by_bags, 2048.0 * (400 + 4 + 256 + 256));
  EXPECT_TRUE(whole.pools_on_shards);
  EXPECT_EQ(whole.planned(), whole.by_bags);
  EXPECT_LE(whole.by_bags, 0.04 * whole.by_rows);

  LogicalTable exact = table;
  exact.pooling_sum = "exact";
  const TableTraffic split =
      TrafficOfOne(exact, {.shards = 4, .strategy = "row_wise", .pool_on = "shards"}, DlrmStep());
  // From each of four shards a sum of f64, and to each the gradient.
  EXPECT_DOUBLE_EQ(split.by_bags, 2048.0 * (400 + 4 * (4 + 512 + 256)));
  EXPECT_LE(split.by_bags, 0.08 * split.by_rows);
}

TEST(PlanTraffic, RowsInBf16HaveTwoBytesANumberAndBagsFour) {
  const LogicalTable table = PlanTrafficTable("t", 1000000, 64);
  const PlanOptions plan = {.strategy = "table_wise_lpt"};
  StepShape step = DlrmStep();
  const TableTraffic f32 = TrafficOfOne(table, plan, step);
  step.row_precision = {.pull = Precision::kBf16};
  EXPECT_DOUBLE_EQ(TrafficOfOne(table, plan, step).by_rows, f32.by_rows / 532 * 404);
  step.row_precision = {.pull = Precision::kBf16, .push = Precision::kBf16};
  EXPECT_DOUBLE_EQ(TrafficOfOne(table, plan, step).by_rows, f32.by_rows / 532 * 276);
  EXPECT_EQ(TrafficOfOne(table, plan, step).by_bags, f32.by_bags);
}

TEST(PlanTraffic, ManyLookupsOfFewRowsMoveLessMerged) {
  const StepShape step = {.samples = 2048, .workers = 1, .bag_lengths = {10.0}};
  const TableTraffic traffic = TrafficOfOne(PlanTrafficTable("small", 500, 16),
                                            {.shards = 2, .strategy = "table_wise_lpt"}, step);
  EXPECT_FALSE(traffic.pools_on_shards);
  EXPECT_EQ(traffic.planned(), traffic.by_rows);
  EXPECT_LT(traffic.by_rows, 0.5 * traffic.by_bags);
}

TEST(PlanTraffic, EveryWorkerMergesItsOwnRows) {
  const auto with = [](uint32_t workers) {
    return TrafficOfOne(PlanTrafficTable("t", 100, 8), {.strategy = "table_wise_lpt"},
                        {.samples = 64, .workers = workers, .bag_lengths = {4.0}});
  };
  EXPECT_NEAR(with(1).distinct_rows, 100 * (1 - std::pow(0.99, 256)), 1e-9);
  EXPECT_NEAR(with(2).distinct_rows, 2 * 100 * (1 - std::pow(0.99, 128)), 1e-9);
  EXPECT_EQ(with(2).by_bags, with(1).by_bags);
}

TEST(PlanTraffic, CutsOfColumnsAskTwiceAndMoveTheSameValues) {
  const StepShape step = {.samples = 1, .workers = 1, .bag_lengths = {1.0}};
  const TableTraffic traffic =
      TrafficOfOne(PlanTrafficTable("t", 100, 32),
                   {.shards = 2, .strategy = "column_wise", .pool_on = "shards"}, step);
  EXPECT_DOUBLE_EQ(traffic.by_rows, 2 * (8 + 4 + 8) + 2 * 128);
  EXPECT_DOUBLE_EQ(traffic.by_bags, 2 * (4 + 4) + 2 * 128);
}

TEST(PlanTraffic, MaximaBringTheirWinnersAndFrozenTablesAreNotPushed) {
  LogicalTable table = PlanTrafficTable("t", 100, 16);
  table.pooling = "max";
  const StepShape step = {.samples = 1, .workers = 1, .bag_lengths = {1.0}};
  EXPECT_DOUBLE_EQ(TrafficOfOne(table, {.shards = 2, .pool_on = "shards"}, step).by_bags,
                   4 + 2 * (4 + 64 + 64 + 64 + 64));
  table.pooling = "sum";
  table.freeze = true;
  const TableTraffic frozen = TrafficOfOne(table, {.strategy = "table_wise_lpt"}, step);
  EXPECT_DOUBLE_EQ(frozen.by_rows, 8 + 4 + 64);
  EXPECT_DOUBLE_EQ(frozen.by_bags, 4 + 4 + 64);
}

TEST(PlanTraffic, WhatCannotBePooledSaysWhy) {
  const StepShape step = {.samples = 1, .workers = 1, .bag_lengths = {1.0}};
  const TableTraffic split = TrafficOfOne(PlanTrafficTable("t", 100, 16), {.shards = 2}, step);
  EXPECT_THAT(split.refusal, HasSubstr("pooling_sum: exact can"));
  EXPECT_EQ(split.by_bags, 0.0);
  LogicalTable learned = PlanTrafficTable("t", 100, 16);
  learned.weighted_pooling = "learned";
  const auto all = TrafficOfEach(learned, {}, step);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].refusal, "the weights of its ids are learned");
  EXPECT_EQ(all[1].refusal, "they are the weights of ids");
  EXPECT_EQ(all[1].lookups, 1.0);
}

TEST(PlanTraffic, TablesOnTheWorkersMoveNothing) {
  EXPECT_TRUE(
      TrafficOfEach(PlanTrafficTable("t", 9, 2), {.strategy = "replicated"}, {.bag_lengths = {1.0}})
          .empty());
}

}  // namespace
}  // namespace rowhouse
