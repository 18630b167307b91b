#include "worker/data/blocks/id_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "common/random.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

IdStatistics Collect(const std::vector<uint64_t>& ids, size_t max_ids) {
  IdStatisticsCollector collector(max_ids);
  int passes = 0;
  do {
    ++passes;
    for (size_t i = 0; i < ids.size(); i += 1000) {
      collector.Add(std::span(ids).subspan(i, std::min<size_t>(1000, ids.size() - i)));
    }
  } while (collector.EndPass());
  EXPECT_LE(passes, 3);
  return collector.Statistics();
}

// Zipf ids, scattered over 64 bits.
std::vector<uint64_t> ZipfIds(uint64_t rows, double exponent, size_t lookups) {
  const Zipf zipf(rows, exponent);
  SplitMix64 bits(7);
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < lookups; ++i) ids.push_back(Mix64(zipf.Draw(&bits)));
  return ids;
}

TEST(IdStatisticsTest, CountsByHand) {
  std::vector<uint64_t> ids(60, 5);
  for (uint64_t id = 100; id < 130; ++id) ids.push_back(id);
  for (uint64_t id = 100; id < 110; ++id) ids.push_back(id);
  const IdStatistics statistics = Collect(ids, 1000);
  EXPECT_TRUE(statistics.is_exact);
  EXPECT_EQ(statistics.lookups, 100u);
  EXPECT_DOUBLE_EQ(statistics.distinct, 31);
  EXPECT_DOUBLE_EQ(statistics.seen_once, 20);
  EXPECT_DOUBLE_EQ(statistics.top_permille, 0.60);  // One id.
  EXPECT_DOUBLE_EQ(statistics.top_percent, 0.60);
  EXPECT_NEAR(statistics.top_tenth, 0.60 + 2.1 * 0.02, 1e-12);  // 3.1 ids.
}

TEST(IdStatisticsTest, NoLookupsAndOneId) {
  EXPECT_EQ(Collect({}, 10).distinct, 0);
  const IdStatistics one = Collect(std::vector<uint64_t>(50, 9), 10);
  EXPECT_EQ(one.distinct, 1);
  EXPECT_EQ(one.top_permille, 1.0);
  EXPECT_EQ(one.zipf_exponent, 0.0);
}

TEST(IdStatisticsTest, TheExponentIsThatTheIdsWereDrawnWith) {
  for (const double exponent : {0.6, 1.05, 1.3}) {
    const IdStatistics statistics = Collect(ZipfIds(2000, exponent, 400'000), 1 << 16);
    EXPECT_NEAR(statistics.zipf_exponent, exponent, 0.03);
  }
  // Counts that are all the same.
  std::vector<uint64_t> even;
  for (uint64_t i = 0; i < 5000; ++i) even.push_back(i % 1000);
  EXPECT_NEAR(Collect(even, 1 << 16).zipf_exponent, 0.0, 0.01);
}

// The stated error, 1 / sqrt(n), three times over.
TEST(IdStatisticsTest, EstimatesAreWithinTheirErrorOfExactCounts) {
  constexpr size_t kMaxIds = 8192;
  for (const double exponent : {0.0, 0.8, 1.1}) {
    const std::vector<uint64_t> ids = ZipfIds(1'000'000, exponent, 500'000);
    const IdStatistics exact = Collect(ids, 1 << 20);
    const IdStatistics estimate = Collect(ids, kMaxIds);
    ASSERT_TRUE(exact.is_exact);
    ASSERT_FALSE(estimate.is_exact);
    const double error = 3 / std::sqrt(kMaxIds / 2.0);
    EXPECT_EQ(estimate.lookups, exact.lookups);
    EXPECT_NEAR(estimate.distinct / exact.distinct, 1.0, error) << exponent;
    EXPECT_NEAR(estimate.seen_once / exact.seen_once, 1.0, error) << exponent;
    EXPECT_NEAR(estimate.top_permille, exact.top_permille, 0.01) << exponent;
    EXPECT_NEAR(estimate.top_percent, exact.top_percent, 0.01) << exponent;
    EXPECT_NEAR(estimate.top_tenth, exact.top_tenth, 0.02) << exponent;
    EXPECT_NEAR(estimate.zipf_exponent, exact.zipf_exponent, 0.03) << exponent;
  }
}

}  // namespace
}  // namespace rowhouse
