#include "sharding/lab/traffic/id_distribution.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

#include "common/random.h"

namespace rowhouse {
namespace {

constexpr Retention kByUse = {.by_count = 0}, kByCount = {.by_count = 0.85},
                    kByBoth = {.by_count = 0.62}, kFixed = {.by_count = 1, .is_fixed = true};

double MassOf(const IdDistribution& ids) {
  double mass = 0;
  for (const IdDistribution::Group& group : ids.groups()) mass += group.rows * group.probability;
  return mass;
}

double RowsOf(const IdDistribution& ids) {
  double rows = 0;
  for (const IdDistribution::Group& group : ids.groups()) rows += group.rows;
  return rows;
}

TEST(IdDistribution, AllRowsAndLookupsAreInItsGroups) {
  const IdDistribution zipf = IdDistribution::Zipf(1e7, 1.05);
  const std::array<IdDistribution::Part, 2> parts = {{{&zipf, 1.0}, {&zipf, 3.0}}};
  for (const IdDistribution& ids :
       {zipf, IdDistribution::Uniform(1e6), IdDistribution::Zipf(10, 2.0),
        IdDistribution::Mixed(parts), zipf.Hashed(1e5, true), zipf.Hashed(1e5, false),
        IdDistribution::Joined(parts)}) {
    EXPECT_NEAR(MassOf(ids), 1, 1e-6);
    EXPECT_NEAR(RowsOf(ids), ids.rows(), 1e-6 * ids.rows());
    EXPECT_LT(ids.groups().size(), 1000u);
  }
}

// Sums over all ids; `without` the most frequent ones.
double SumOverIds(uint64_t ids, double exponent, double lookups, uint64_t without = 0) {
  double all = 0, sum = 0;
  for (uint64_t k = 1; k <= ids; ++k) all += std::pow(static_cast<double>(k), -exponent);
  for (uint64_t k = without + 1; k <= ids; ++k) {
    const double p = std::pow(static_cast<double>(k), -exponent) / all;
    sum += p >= 1 ? 1 : -std::expm1(lookups * std::log1p(-p));
  }
  return sum;
}

TEST(IdDistribution, DistinctRowsAreThoseOfTheSumOverAllIds) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    for (const uint64_t ids : {1ul, 200ul, 5000ul, 400'000ul}) {
      const IdDistribution zipf = IdDistribution::Zipf(static_cast<double>(ids), exponent);
      for (const double lookups : {10.0, 10'240.0, 1e6}) {
        const double expected = SumOverIds(ids, exponent, lookups);
        EXPECT_NEAR(zipf.DistinctRows(lookups), expected, 2e-3 * expected)
            << exponent << " " << ids << " " << lookups;
      }
      double share = 0;
      const IdDistribution cold = zipf.Without(100, &share);
      const double expected = SumOverIds(ids, exponent, 10'240, 100);
      EXPECT_NEAR(ids > 100 ? cold.DistinctRows(10'240 * (1 - share)) : 0, expected,
                  0.01 * expected)
          << exponent << " " << ids;
    }
  }
  EXPECT_NEAR(IdDistribution::Uniform(1000).DistinctRows(1000),
              1000 * (1 - std::pow(1 - 1e-3, 1000)), 1e-9);
  // Without cancellation where a step touches next to nothing.
  EXPECT_NEAR(IdDistribution::Uniform(0x1p62).DistinctRows(1000), 1000.0, 1e-6);
  EXPECT_NEAR(IdDistribution::Uniform(1e6).DistinctRows(204'800), 185189.82, 0.1);
  EXPECT_LT(IdDistribution::Zipf(0x1p50, 1.05).DistinctRows(1e6), 1e6);
}

// Row 0 has a half of all lookups, row 1 a quarter, rows 2 and 3 an eighth each; 2 lookups miss a
// row by the square of what is left: 3/4 + 7/16 + 2 * 15/64.
TEST(IdDistribution, CountedRowsAreTouchedByTheirShare) {
  TableAccesses half{.name = "t", .rows = 4, .range_rows = 2, .ranges = {8, 0}, .hottest = {}};
  EXPECT_DOUBLE_EQ(IdDistribution::Counted(half).DistinctRows(2), 1.5);
  half.ranges = {6, 2};
  half.hottest = {{0, 4}};
  EXPECT_DOUBLE_EQ(IdDistribution::Counted(half).DistinctRows(2), 1.65625);
}

TEST(IdDistribution, CountedRowsHaveTheProbabilitiesThatWereCounted) {
  TableAccesses counted{.name = "t", .rows = 100, .range_rows = 10, .ranges = {}, .hottest = {}};
  counted.ranges.assign(10, 10);
  counted.ranges[3] = 910;
  counted.hottest = {{35, 900}};
  const IdDistribution ids = IdDistribution::Counted(counted);
  EXPECT_EQ(ids.rows(), 100);
  EXPECT_NEAR(ids.groups()[0].probability, 0.9, 1e-12);
  EXPECT_NEAR(ids.DistinctRows(1), 1, 1e-9);
  double share = 0;
  EXPECT_EQ(ids.Without(1, &share).rows(), 99);
  EXPECT_NEAR(share, 0.9, 1e-12);
}

TEST(IdDistribution, RowsLeftWithoutTheHottestHaveTheLookupsLeft) {
  const IdDistribution ids = IdDistribution::Zipf(1e5, 1.05);
  double share = 0;
  const IdDistribution left = ids.Without(500, &share);
  EXPECT_NEAR(left.rows(), 1e5 - 500, 1e-6);
  EXPECT_NEAR(MassOf(left), 1, 1e-9);
  EXPECT_NEAR(left.groups()[0].probability * (1 - share), 1.57e-4, 0.08e-4);
  double again = 0;
  EXPECT_EQ(ids.Without(500, &again).DistinctRows(1000), left.DistinctRows(1000));
  EXPECT_EQ(again, share);
}

TEST(IdDistribution, WhatIsAskedAgainIsAnsweredAlike) {
  const IdDistribution ids = IdDistribution::Zipf(1e5, 1.05);
  const auto cached = [](const IdDistribution& of, const Retention& keeps, double steps) {
    return of.SharesOfRun(5000, 1000, {.keeps = keeps, .steps = steps}).cached;
  };
  const IdDistribution copy = ids;
  for (const Retention& keeps : {kByUse, kByCount, kFixed}) {
    for (const double steps : {0.0, 50.0}) {
      const double fresh = cached(IdDistribution::Zipf(1e5, 1.05), keeps, steps);
      EXPECT_EQ(cached(ids, keeps, steps), fresh);
      EXPECT_EQ(cached(ids, keeps, steps), fresh);
      EXPECT_EQ(cached(copy, keeps, steps), fresh);
    }
  }
}

TEST(IdDistribution, LookupsForIsFoundHoweverSteepTheLaw) {
  for (const double exponent : {0.0, 0.5, 1.05, 2.0, 5.0}) {
    for (const double rows : {3.0, 1000.0, 1e8}) {
      const IdDistribution ids = IdDistribution::Zipf(rows, exponent);
      for (const double share : {1e-4, 0.01, 0.5, 0.99, 1 - 1e-6}) {
        const double wanted = share * rows;
        const double lookups = ids.LookupsFor(wanted);
        EXPECT_NEAR(ids.DistinctRows(lookups), wanted, 1e-3 * wanted)
            << exponent << ", " << rows << ", " << share;
      }
    }
  }
}

TEST(IdDistribution, LookupsForIsTheInverseOfDistinctRows) {
  const IdDistribution ids = IdDistribution::Zipf(1e6, 1.05);
  for (const double rows : {10.0, 1e3, 1e5, 9e5}) {
    EXPECT_NEAR(ids.DistinctRows(ids.LookupsFor(rows)), rows, 1e-3 * rows);
  }
  EXPECT_TRUE(std::isinf(ids.LookupsFor(1e6)));
}

// Rows that ids share by chance, against ids that are really dealt.
TEST(IdDistribution, HashedRowsAreTouchedAsOftenAsIfEachIdWasDealt) {
  constexpr int kIds = 200'000, kRows = 20'000;
  for (const bool evenly : {true, false}) {
    SplitMix64 random(7);
    std::vector<double> mass(kRows), probability(kIds);
    for (int id = 0; id < kIds; ++id) probability[id] = 1 / std::pow(id + 1.0, 1.05);
    const double sum = std::accumulate(probability.begin(), probability.end(), 0.0);
    std::vector<int> order(kIds);
    std::iota(order.begin(), order.end(), 0);
    for (int i = kIds - 1; i > 0; --i) std::swap(order[i], order[random.Next() % (i + 1)]);
    for (int id = 0; id < kIds; ++id) {
      const size_t row = evenly ? order[id] % kRows : random.Next() % kRows;
      mass[row] += probability[id] / sum;
    }
    const IdDistribution rows = IdDistribution::Zipf(kIds, 1.05).Hashed(kRows, evenly);
    for (const double lookups : {1000.0, 10'000.0, 100'000.0}) {
      double expected = 0;
      for (const double p : mass) expected += 1 - std::pow(1 - p, lookups);
      EXPECT_NEAR(rows.DistinctRows(lookups), expected, 0.015 * expected) << evenly << lookups;
    }
  }
}

TEST(IdDistribution, CheIsExactForUniformRows) {
  // LRU keeps the rows of the last lookups: of equally likely rows any share of them is as good.
  const IdDistribution ids = IdDistribution::Uniform(10'000);
  EXPECT_NEAR(ids.HitRate(2500, 10, kByUse), 0.25, 1e-3);
  EXPECT_EQ(ids.HitRate(10'000, 10, kByUse), 1);
  EXPECT_EQ(ids.HitRate(0, 10, kByUse), 0);
}

TEST(IdDistribution, SharesOfARunSumToOneAndTouchedRowsAreDistinctRowsOfTheRun) {
  const IdDistribution ids = IdDistribution::Zipf(1e6, 1.05);
  for (const double slots : {1e3, 1e5, 1e6}) {
    const RowShares shares = ids.SharesOfRun(slots, 5000, {.keeps = kByUse, .steps = 100});
    EXPECT_NEAR(shares.cached + shares.stored + shares.touched, 1, 1e-9);
    EXPECT_NEAR(shares.touched * 100 * ids.DistinctRows(5000), ids.DistinctRows(5e5), 1);
  }
  EXPECT_EQ(ids.SharesOfRun(1e6, 5000, {.keeps = kByUse, .steps = 100}).stored, 0);
}

TEST(IdDistribution, OfTableWithHardlyAnyLookupsHitsAndTouchesFiniteNumbers) {
  TableAccesses accesses{.name = "t", .rows = 367'692'628, .range_rows = 5611};
  accesses.ranges.resize(65'531);
  for (const uint64_t row : {126'037'523u, 233'266'565u}) {
    accesses.ranges[row / accesses.range_rows] = 1;
    accesses.hottest.push_back({row, 1});
  }
  const IdDistribution ids = IdDistribution::Counted(accesses);
  for (const Retention& keeps : {kByUse, kByBoth, kByCount, kFixed}) {
    for (const double slots : {1.0, 2.0, 1e6}) {
      const double rate = ids.HitRate(slots, 26, keeps);
      EXPECT_GE(rate, 0) << keeps.by_count << ", " << slots;
      EXPECT_LE(rate, 1) << keeps.by_count << ", " << slots;
      const RowShares shares = ids.SharesOfRun(slots, 26, {.keeps = keeps, .steps = 10});
      EXPECT_NEAR(shares.cached + shares.stored + shares.touched, 1, 1e-9) << keeps.by_count;
    }
  }
  double share = 0;
  EXPECT_EQ(ids.Without(2, &share).DistinctRows(26 * (1 - share)), 0);
  EXPECT_LE(share, 1);
}

}  // namespace
}  // namespace rowhouse
