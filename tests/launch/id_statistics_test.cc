#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "common/random.h"
#include "launch/data/stats.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

IdStatistics Collect(const std::vector<uint64_t>& ids) {
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t id : ids) ++counts[id];
  IdsByCount ids_by_count;
  for (const auto& [id, count] : counts) ++ids_by_count[count];
  return StatisticsOf(ids_by_count);
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
  const IdStatistics statistics = Collect(ids);
  EXPECT_EQ(statistics.lookups, 100u);
  EXPECT_EQ(statistics.distinct, 31u);
  EXPECT_EQ(statistics.seen_once, 20u);
  EXPECT_DOUBLE_EQ(statistics.top_permille, 0.60);  // One id.
  EXPECT_DOUBLE_EQ(statistics.top_percent, 0.60);
  EXPECT_NEAR(statistics.top_tenth, 0.60 + 2.1 * 0.02, 1e-12);  // 3.1 ids.
}

TEST(IdStatisticsTest, NoLookupsAndOneId) {
  EXPECT_EQ(Collect({}).distinct, 0u);
  const IdStatistics one = Collect(std::vector<uint64_t>(50, 9));
  EXPECT_EQ(one.distinct, 1u);
  EXPECT_EQ(one.top_permille, 1.0);
  EXPECT_EQ(one.zipf_exponent, 0.0);
}

TEST(IdStatisticsTest, TheExponentIsThatTheIdsWereDrawnWith) {
  for (const double exponent : {0.6, 1.05, 1.3}) {
    const IdStatistics statistics = Collect(ZipfIds(2000, exponent, 400'000));
    EXPECT_NEAR(statistics.zipf_exponent, exponent, 0.03);
  }
  // Counts that are all the same.
  std::vector<uint64_t> even;
  for (uint64_t i = 0; i < 5000; ++i) even.push_back(i % 1000);
  EXPECT_NEAR(Collect(even).zipf_exponent, 0.0, 0.01);
}

}  // namespace
}  // namespace rowhouse
