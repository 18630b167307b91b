
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/random.h"
#include "sharding/plans/reuse_sampler.h"

namespace rowhouse {
namespace {

// Mattson's stack, as a list: the accesses that a cache of so many rows would miss, for each number
// of rows from 0 on, as shares of all.
std::vector<double> ExactMissRatios(const std::vector<uint64_t>& accesses, size_t most_rows) {
  std::vector<uint64_t> stack;  // last used at the back
  std::vector<double> hits_at(most_rows + 2);
  for (const uint64_t row : accesses) {
    const auto found = std::find(stack.rbegin(), stack.rend(), row);
    if (found != stack.rend()) {
      const auto depth = static_cast<size_t>(found - stack.rbegin()) + 1;
      hits_at[std::min(depth, most_rows + 1)] += 1.0;
      stack.erase(std::next(found).base());
    }
    stack.push_back(row);
  }
  std::vector<double> ratios(most_rows + 1);
  double hits = 0.0;
  for (size_t rows = 0; rows <= most_rows; ++rows) {
    hits += hits_at[rows];
    ratios[rows] = 1.0 - hits / static_cast<double>(accesses.size());
  }
  return ratios;
}

// Of `rows` rows; row k is looked up with a probability ~ k^-exponent, about.
std::vector<uint64_t> Skewed(size_t accesses, double rows, double exponent, uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<uint64_t> result;
  for (size_t i = 0; i < accesses; ++i) {
    const double u = ToUnitDouble(random.Next());
    const double power = 1.0 - exponent;
    const double rank = std::abs(power) < 1e-9
                            ? std::exp(u * std::log(rows))
                            : std::pow(1.0 + u * (std::pow(rows, power) - 1.0), 1.0 / power);
    result.push_back(Mix64(static_cast<uint64_t>(rank)) % static_cast<uint64_t>(rows * 10));
  }
  return result;
}

// A loop that is longer than most caches, with hot rows between.
std::vector<uint64_t> LoopAndHotRows(size_t accesses) {
  std::vector<uint64_t> result;
  for (size_t i = 0; i < accesses; ++i) {
    result.push_back(i % 3 == 0 ? i % 50 : 1000 + i % 3000);
  }
  return result;
}

MissRatioCurve CurveOf(const std::vector<uint64_t>& accesses, size_t rows, double rate) {
  ReuseSampler sampler(rows, rate, /*per_octave=*/64);
  for (const uint64_t row : accesses) sampler.Add(RowId{row});
  return sampler.Points();
}

// Over sizes from none to all rows, evenly spaced.
double MeanError(const MissRatioCurve& curve, const std::vector<double>& exact) {
  const size_t kSizes = 200;
  double sum = 0.0;
  for (size_t i = 1; i <= kSizes; ++i) {
    const size_t rows = (exact.size() - 1) * i / kSizes;
    sum += std::abs(curve.MissRatio(static_cast<double>(rows)) - exact[rows]);
  }
  return sum / static_cast<double>(kSizes);
}

TEST(MissRatioCurve, OfAllRowsIsThatOfMattsonsStack) {
  for (const auto& accesses : {Skewed(20'000, 1000, 0.8, 1), LoopAndHotRows(20'000)}) {
    const MissRatioCurve curve = CurveOf(accesses, ReuseSampler::kAllRows, 1.0);
    const std::vector<double> exact = ExactMissRatios(accesses, 5000);
    EXPECT_EQ(curve.error(), 0.0);
    for (size_t rows = 0; rows <= 60; ++rows) {
      EXPECT_NEAR(curve.MissRatio(static_cast<double>(rows)), exact[rows], 1e-9) << rows;
    }
    EXPECT_LT(MeanError(curve, exact), 0.01);
    EXPECT_NEAR(curve.cold_ratio(), exact.back(), 1e-9);
  }
}

TEST(MissRatioCurve, FewSmallDistancesAreTakenExactly) {
  // a b a c b a: distances -, -, 2, -, 3, 3 rows.
  const MissRatioCurve curve = CurveOf({1, 2, 1, 3, 2, 1}, ReuseSampler::kAllRows, 1.0);
  EXPECT_EQ(curve.MissRatio(0), 1.0);
  EXPECT_EQ(curve.MissRatio(1), 1.0);
  EXPECT_NEAR(curve.MissRatio(2), 5.0 / 6, 1e-12);
  EXPECT_NEAR(curve.MissRatio(3), 3.0 / 6, 1e-12);
  EXPECT_NEAR(curve.MissRatio(100), 3.0 / 6, 1e-12);
  EXPECT_EQ(curve.distinct_rows, 3.0);
}

TEST(MissRatioCurve, SamplesKeepWithinTheErrorThatTheyState) {
  struct Case {
    size_t rows;
    double rate;
  };
  for (const auto& accesses : {Skewed(60'000, 4000, 0.6, 1), Skewed(60'000, 4000, 1.0, 2),
                               Skewed(60'000, 4000, 1.3, 3), LoopAndHotRows(60'000)}) {
    const std::vector<double> exact = ExactMissRatios(accesses, 4000);
    for (const Case& c : {Case{128, 1.0}, Case{512, 1.0}, Case{ReuseSampler::kAllRows, 0.1},
                          Case{ReuseSampler::kAllRows, 0.3}, Case{256, 0.5}}) {
      const MissRatioCurve curve = CurveOf(accesses, c.rows, c.rate);
      if (curve.rows_followed == 0.0) continue;  // fewer rows than may be followed
      EXPECT_LT(MeanError(curve, exact), curve.error()) << c.rows << " rows, rate " << c.rate;
      EXPECT_LE(curve.rows_followed, static_cast<double>(c.rows));
    }
  }
}

TEST(MissRatioCurve, ASampleThatWasTakenBeforeIsAsGood) {
  const std::vector<uint64_t> accesses = Skewed(30'000, 4000, 0.9, 5);
  ReuseSampler all(ReuseSampler::kAllRows, 0.25, 64), kept(ReuseSampler::kAllRows, 0.25, 64);
  for (const uint64_t row : accesses) {
    all.Add(RowId{row});
    if (ReuseSampler::IsSampled(RowId{row}, 0.25)) {
      kept.Add(RowId{row});
    } else {
      kept.AddUnsampled(1.0);
    }
  }
  for (const double rows : {10.0, 100.0, 1000.0, 4000.0}) {
    EXPECT_EQ(all.Points().MissRatio(rows), kept.Points().MissRatio(rows));
  }
}

TEST(MissRatioCurve, WithoutAccessesAllIsMissed) {
  EXPECT_EQ(MissRatioCurve{}.MissRatio(100), 1.0);
  EXPECT_EQ(CurveOf({}, 100, 1.0).MissRatio(100), 1.0);
  EXPECT_EQ(CurveOf({7}, 100, 1.0).MissRatio(100), 1.0) << "a first access";
}

}  // namespace
}  // namespace rowhouse
