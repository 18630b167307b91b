#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>

#include "common/random.h"
#include "ps/cache/cache_ledger.h"
#include "sharding/plans/reuse_sampler.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Misses nothing from `rows` cached rows on, and falls to that in a straight line.
std::function<double(double)> Straight(double rows) {
  return [rows](double cached) { return std::max(0.0, 1.0 - cached / rows); };
}

TableDemand Table(double accesses, double rows_needed, uint64_t has_bytes = 0) {
  return {.bytes = 1'000'000,
          .row_bytes = 10,
          .accesses = accesses,
          .miss_ratio = Straight(rows_needed),
          .has_bytes = has_bytes};
}

TEST(CacheBudget, BytesGoWhereTheySaveMostMisses) {
  // Of the first 1 access a byte is saved up to 10,000 bytes, of the second 2 up to 20,000.
  const std::vector<TableDemand> tables = {Table(10'000, 1000), Table(40'000, 2000)};
  const auto near = [](uint64_t bytes) {
    return testing::AllOf(testing::Ge(bytes - bytes / 50), testing::Le(bytes + bytes / 50));
  };
  EXPECT_THAT(SplitBudget(tables, 12'000), testing::ElementsAre(0u, 12'000u));
  EXPECT_THAT(SplitBudget(tables, 25'600), testing::ElementsAre(near(5600), near(20'000)));
  // When nothing more is saved the rest is dealt out all the same.
  const std::vector<uint64_t> split = SplitBudget(tables, 100'000);
  EXPECT_EQ(split[0] + split[1], 100'000u);
  EXPECT_EQ(PredictedMisses(tables, split), 0.0);
}

TEST(CacheBudget, AStepIsWorthItsWholeWidth) {
  // A loop over 5000 rows misses always until all of them are there: 50,000 bytes that save 90,000.
  TableDemand loop = Table(90'000, 0);
  loop.miss_ratio = [](double cached) { return cached < 5000 ? 1.0 : 0.0; };
  const std::vector<TableDemand> tables = {Table(100'000, 10'000), loop};
  EXPECT_GE(SplitBudget(tables, 80'000)[1], 50'000u);
  EXPECT_GE(SplitBudget(tables, 80'000)[0], 29'000u);
}

TEST(CacheBudget, WhatIsLeftDoesNotGoToAPartThatSavesNothing) {
  // A byte is missing to hold both as a whole. The first saves more a byte, but misses little
  // without its last one; the second misses most accesses until all of its rows are there.
  std::vector<TableDemand> tables = {Table(55'012, 2575), Table(17'907, 6361)};
  tables[0].bytes = 25'749;
  tables[1].bytes = 14'060;
  EXPECT_THAT(SplitBudget(tables, 39'808), testing::ElementsAre(25'748u, 14'060u));
}

TEST(CacheBudget, AWholeTableMissesNotEvenFirstAccesses) {
  TableDemand cold = Table(1000, 0);
  cold.bytes = 4000;
  cold.miss_ratio = [](double) { return 1.0; };  // each row looked up once, so far
  EXPECT_EQ(SplitBudget({cold, Table(1, 100)}, 4000)[0], 4000u);
  EXPECT_EQ(PredictedMisses({cold}, {4000}), 0.0);
  EXPECT_EQ(PredictedMisses({cold}, {3999}), 1000.0);
}

TEST(CacheBudget, ATableKeepsItsLeastAndHasNoMoreThanItMay) {
  std::vector<TableDemand> tables = {Table(10'000, 1000), Table(40'000, 2000)};
  tables[0].least_bytes = 3000;
  EXPECT_THAT(SplitBudget(tables, 12'000), testing::ElementsAre(3000u, 9000u));
  EXPECT_THAT(SplitBudget(tables, 2000), testing::ElementsAre(2000u, 0u));
  tables[1].most_bytes = 5000;
  EXPECT_THAT(SplitBudget(tables, 12'000), testing::ElementsAre(7000u, 5000u));
  // A part of a table misses first accesses, also where it may have no more than that.
  TableDemand cold = Table(1000, 0);
  cold.most_bytes = 4000;
  cold.miss_ratio = [](double) { return 1.0; };
  EXPECT_EQ(PredictedMisses({cold}, {4000}), 1000.0);
}

TEST(CacheBudget, NothingMovesForLittle) {
  std::vector<TableDemand> tables = {Table(10'000, 1000, 6000), Table(10'400, 1000, 6000)};
  EXPECT_EQ(MoveBudget(tables, 12'000), (std::vector<uint64_t>{6000, 6000}))
      << "2 % of the misses could be saved";
  tables[1].accesses = 20'000;
  EXPECT_GT(MoveBudget(tables, 12'000)[1], 9000u);
  EXPECT_EQ(MoveBudget(tables, 12'000, 0.9), (std::vector<uint64_t>{6000, 6000}));
  tables[1].accesses = 10'400;
  const std::vector<uint64_t> less = MoveBudget(tables, 8000);
  EXPECT_EQ(less[0] + less[1], 8000u) << "they have more than there is";
}

TEST(CacheBudget, MovesAPartOfTheWayWhereAllOfItIsTooMuchAtOnce) {
  const std::vector<TableDemand> tables = {Table(10'000, 1000, 6000), Table(20'000, 1000, 6000)};
  const uint64_t whole = MoveBudget(tables, 12'000)[1] - 6000;
  ASSERT_GT(whole, 2000u);
  const std::vector<uint64_t> part = MoveBudget(tables, 12'000, 0.05, /*most_moved=*/1000);
  EXPECT_LE(part[0] + part[1], 12'000u);
  EXPECT_GE(part[0] + part[1], 11'999u);
  EXPECT_NEAR(static_cast<double>(part[1]), 7000.0, 1.0);
  EXPECT_EQ(MoveBudget(tables, 12'000, 0.05, whole), MoveBudget(tables, 12'000));
}

RC_GTEST_PROP(CacheBudgetProperty, NoMoreThanThereIsAndNoWorseThanAnEqualSplit, ()) {
  const auto count = *rc::gen::inRange<size_t>(1, 6);
  std::vector<TableDemand> tables;
  for (size_t i = 0; i < count; ++i) {
    TableDemand table = Table(*rc::gen::inRange(0, 100000), *rc::gen::inRange(1, 20000));
    table.bytes = *rc::gen::inRange<uint64_t>(0, 300000);
    tables.push_back(table);
  }
  const auto budget = *rc::gen::inRange<uint64_t>(0, 1000000);
  const std::vector<uint64_t> split = SplitBudget(tables, budget);
  uint64_t all = 0, needed = 0, accesses = 0;
  std::vector<uint64_t> equal;
  for (size_t i = 0; i < count; ++i) {
    RC_ASSERT(split[i] <= tables[i].bytes);
    all += split[i];
    needed += tables[i].bytes;
    accesses += static_cast<uint64_t>(tables[i].accesses);
    equal.push_back(std::min(tables[i].bytes, budget / count));
  }
  RC_ASSERT(all == std::min(budget, needed));
  // But for the part a stretch is cut at.
  RC_ASSERT(PredictedMisses(tables, split) <=
            PredictedMisses(tables, equal) + static_cast<double>(accesses) * 0.02 + 1.0);
}

double ExactLruMissRatio(const std::vector<uint64_t>& accesses, size_t cache_rows) {
  std::list<uint64_t> order;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> cached;
  size_t misses = 0;
  for (const uint64_t row : accesses) {
    if (const auto found = cached.find(row); found != cached.end()) {
      order.erase(found->second);
    } else {
      ++misses;
      if (cached.size() == cache_rows) {
        cached.erase(order.back());
        order.pop_back();
      }
    }
    order.push_front(row);
    cached[row] = order.begin();
  }
  return static_cast<double>(misses) / static_cast<double>(accesses.size());
}

TEST(ReuseSampler, ASampleOfRowsGivesTheCurveOfAll) {
  // Of 60,000 rows the square of a uniform number: hot ones and a long tail.
  SplitMix64 random(3);
  std::vector<uint64_t> accesses;
  ReuseSampler sampler;
  for (int i = 0; i < 150'000; ++i) {
    const double u = ToUnitDouble(random.Next());
    accesses.push_back(static_cast<uint64_t>(u * u * u * 60'000));
    sampler.Add(RowId{accesses.back()});
  }
  EXPECT_LE(sampler.rows_followed(), ReuseSampler::kMaxRows);
  EXPECT_EQ(sampler.accesses(), 150'000.0);
  for (const size_t rows : {500, 2000, 8000, 30'000}) {
    EXPECT_NEAR(sampler.MissRatio(static_cast<double>(rows)), ExactLruMissRatio(accesses, rows),
                0.03)
        << rows;
  }
  EXPECT_EQ(sampler.MissRatio(0.0), 1.0);
}

TEST(ReuseSampler, FewRowsAreFollowedExactlyAsFarAsBucketsTellThemApart) {
  ReuseSampler sampler;
  EXPECT_EQ(sampler.MissRatio(10.0), 1.0);
  for (int i = 0; i < 40'000; ++i) sampler.Add(RowId{static_cast<uint64_t>(i % 100)});
  EXPECT_EQ(sampler.MissRatio(80.0), 1.0) << "a loop over 100 rows";
  EXPECT_NEAR(sampler.MissRatio(120.0), 100.0 / 40'000, 1e-9);
}

TEST(ReuseSampler, ACurveStaysAsItWas) {
  ReuseSampler sampler;
  for (int i = 0; i < 1000; ++i) sampler.Add(RowId{static_cast<uint64_t>(i % 10)});
  const std::function<double(double)> curve = sampler.Curve();
  for (int i = 0; i < 1000; ++i) sampler.Add(RowId{static_cast<uint64_t>(1000 + i)});
  EXPECT_NEAR(curve(20.0), 10.0 / 1000, 1e-9);
  EXPECT_EQ(curve(0.0), 1.0);
  EXPECT_NEAR(sampler.MissRatio(20.0), 1010.0 / 2000, 1e-9);
}

TEST(ReuseSampler, AgeingFollowsATableThatChanges) {
  ReuseSampler sampler;
  for (int i = 0; i < 10'000; ++i) sampler.Add(RowId{static_cast<uint64_t>(i % 10)});
  for (int t = 0; t < 4; ++t) {
    sampler.Age();
    for (int i = 0; i < 10'000; ++i) sampler.Add(RowId{static_cast<uint64_t>(i % 1000)});
  }
  EXPECT_GT(sampler.MissRatio(100.0), 0.9);
}

}  // namespace
}  // namespace rowhouse
