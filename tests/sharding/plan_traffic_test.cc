// Bytes a step by arithmetic, against sums done by hand and draws that are counted.
#include "sharding/lab/traffic/plan_traffic.h"

#include <cmath>
#include <set>

#include "common/random.h"
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

TableTraffic TrafficOfOne(const LogicalTable& table, const PlanOptions& options,
                          const StepShape& step, const AccessCounts* accesses = nullptr) {
  const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
  const auto all = TrafficOf(tables, MakePlan(tables, options).value(), step, accesses);
  CHECK_EQ(all.size(), 1u);
  return all[0];
}

TEST(PlanTraffic, LookupsAreDividedAmongGroups) {
  LogicalTable grouped = PlanTrafficTable("grouped", 100'000, 16);
  grouped.kind = "grouped";
  grouped.kind_options = {{"groups", "4"}};
  const EmbeddingTables tables = EmbeddingTables::Make({grouped}).value();
  ASSERT_EQ(tables.physical.size(), 4u);
  const Plan plan = MakePlan(tables, {}).value();
  for (const double exponent : {0.0, 1.05}) {
    const StepShape step{.samples = 100, .bag_lengths = {8}, .zipf_exponent = exponent};
    for (const TableTraffic& of_group : TrafficOf(tables, plan, step, nullptr)) {
      EXPECT_NEAR(of_group.lookups, 200, 1);
      EXPECT_LT(of_group.distinct_rows, 200);
      EXPECT_GT(of_group.distinct_rows, 50);
    }
  }
}

// ---- Rows that a step touches -------------------------------------------------------------------

TEST(ExpectedDistinctRows, IsTheMeanOfDraws) {
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(10, 1, nullptr), 1.0);
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(2, 2, nullptr), 1.5);
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(1, 7, nullptr), 1.0);
  EXPECT_EQ(ExpectedDistinctRows(5, 0, nullptr), 0.0);
  // Without cancellation where a step touches next to nothing.
  EXPECT_NEAR(ExpectedDistinctRows(uint64_t{1} << 62, 1000, nullptr), 1000.0, 1e-6);
  // 1e6 * (1 - (1 - 1e-6)^204800)
  EXPECT_NEAR(ExpectedDistinctRows(1000000, 204800, nullptr), 185189.82, 0.1);
}

TEST(ExpectedDistinctRows, CountedRowsAreTouchedByTheirShare) {
  TableAccesses half{.name = "t", .rows = 4, .range_rows = 2, .ranges = {8, 0}, .hottest = {}};
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(4, 2, &half), 1.5) << "rows 2 and 3 are never looked up";
  half.ranges = {6, 2};
  half.hottest = {{0, 4}};
  // Row 0 has a half of all lookups, row 1 a quarter, rows 2 and 3 an eighth each; 2 lookups miss a
  // row by the square of what is left: 3/4 + 7/16 + 2 * 15/64.
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(4, 2, &half), 1.65625);
  const std::vector<RowId> on_workers = {RowId{0}};
  EXPECT_DOUBLE_EQ(ExpectedDistinctRows(4, 2, &half, on_workers), 0.90625);
}

TEST(ExpectedDistinctRows, IsCloseToACountOnZipfianRows) {
  constexpr uint64_t kRows = 5000;
  constexpr int kLookups = 4000;
  // Row r with a probability in 1 / (r + 1).
  std::vector<double> sums = {0.0};
  for (uint64_t r = 0; r < kRows; ++r)
    sums.push_back(sums.back() + 1.0 / static_cast<double>(r + 1));
  const auto draw = [&](uint64_t number) {
    const double at = static_cast<double>(Mix64(MixKey(7, number)) >> 11) * 0x1p-53 * sums.back();
    return static_cast<uint64_t>(std::upper_bound(sums.begin(), sums.end(), at) - sums.begin() - 1);
  };
  AccessCounter counter("t", kRows);
  for (uint64_t i = 0; i < 200000; ++i) counter.Add(draw(i));
  TableAccesses counted = counter.Finish();
  ASSERT_EQ(counted.range_rows, 1u);
  counted.hottest.resize(100);  // The others are known by their ranges, here of one row each.
  std::set<uint64_t> touched;
  for (uint64_t i = 0; i < kLookups; ++i) touched.insert(draw(1000000 + i));
  const auto count = static_cast<double>(touched.size());
  EXPECT_NEAR(ExpectedDistinctRows(kRows, kLookups, &counted), count, 0.03 * count);
  EXPECT_GT(ExpectedDistinctRows(kRows, kLookups, nullptr), 1.5 * count);
}

TEST(ExpectedDistinctIds, IsTheSumOverAllRanks) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    for (const uint64_t ids : {1ul, 200ul, 5000ul, 400000ul}) {
      double all = 0, sum = 0, rest = 0;
      for (uint64_t k = 1; k <= ids; ++k) all += std::pow(static_cast<double>(k), -exponent);
      for (uint64_t k = 1; k <= ids; ++k) {
        const double p = std::pow(static_cast<double>(k), -exponent) / all;
        const double touched = p >= 1 ? 1 : 1 - std::pow(1 - p, 10240);
        sum += touched;
        if (k > 100) rest += touched;
      }
      EXPECT_NEAR(ExpectedDistinctIds(ids, exponent, 10240), sum, 0.01 * sum)
          << exponent << " " << ids;
      EXPECT_NEAR(ExpectedDistinctIds(ids, exponent, 10240, std::min(ids, 100ul)), rest,
                  0.01 * rest)
          << exponent << " " << ids;
    }
  }
  EXPECT_LT(ExpectedDistinctIds(uint64_t{1} << 50, 1.05, 1e6), 1e6);
  EXPECT_EQ(ExpectedDistinctIds(10, 1.05, 0), 0.0);
}

// ---- Bytes --------------------------------------------------------------------------------------

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
  EXPECT_DOUBLE_EQ(with(1).distinct_rows, ExpectedDistinctRows(100, 256, nullptr));
  EXPECT_DOUBLE_EQ(with(2).distinct_rows, 2 * ExpectedDistinctRows(100, 128, nullptr));
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
  const EmbeddingTables tables = EmbeddingTables::Make({learned}).value();
  const auto all = TrafficOf(tables, MakePlan(tables, {}).value(), step, nullptr);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].refusal, "the weights of its ids are learned");
  EXPECT_EQ(all[1].refusal, "they are the weights of ids");
  EXPECT_EQ(all[1].lookups, 1.0);
}

TEST(PlanTraffic, TablesOnTheWorkersMoveNothing) {
  const EmbeddingTables tables = EmbeddingTables::Make({PlanTrafficTable("t", 9, 2)}).value();
  const Plan plan = MakePlan(tables, {.strategy = "replicated"}).value();
  EXPECT_TRUE(TrafficOf(tables, plan, {.bag_lengths = {1.0}}, nullptr).empty());
}

}  // namespace
}  // namespace rowhouse
