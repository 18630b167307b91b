#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

#include "launch/bench_tier/cache_hit_ratio.h"
#include "ps/cache/cache_policy.h"
#include "ps/cache/row_access_counts.h"
#include "sharding/plans/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

AccessTrace Trace(std::vector<uint32_t> accesses) {
  return {.name = "hand", .rows = 4, .accesses = std::move(accesses)};
}

TEST(HitRatioYardsticks, WorkedByHand) {
  // Two slots. LRU drops 0 for 1 and 2; LFU keeps it, used twice; Belady keeps it, needed again.
  const AccessTrace used_again = Trace({0, 0, 1, 2, 0});
  EXPECT_EQ(LruHitRatio(used_again, 2), 1.0 / 5);
  EXPECT_EQ(LfuHitRatio(used_again, 2), 2.0 / 5);
  EXPECT_EQ(BeladyHitRatio(used_again, 2), 2.0 / 5);
  // Round and round: with two slots for three rows LRU never hits, Belady at every other turn.
  const AccessTrace round = Trace({0, 1, 2, 0, 1, 2, 0});
  EXPECT_EQ(LruHitRatio(round, 2), 0.0);
  EXPECT_EQ(BeladyHitRatio(round, 2), 2.0 / 7);
  for (const auto& ratio : {LruHitRatio, LfuHitRatio, BeladyHitRatio}) {
    EXPECT_EQ(ratio(round, 3), 4.0 / 7) << "all but the first access of each";
  }
  // A row that was hot, and is no more, stays with LFU.
  const AccessTrace over = Trace({0, 0, 0, 1, 2, 1, 2, 1, 2});
  EXPECT_EQ(LruHitRatio(over, 2), 6.0 / 9);
  EXPECT_EQ(LfuHitRatio(over, 2), 2.0 / 9) << "and the others drive each other out";
}

TEST(HitRatioYardsticks, NextAccessesAreOfTheSameRow) {
  EXPECT_EQ(NextAccesses(Trace({3, 1, 3, 3, 1})),
            (std::vector<uint64_t>{2, 4, 3, kNoNextAccess, kNoNextAccess}));
}

TEST(AccessTraces, AScanReadsRowsInOrderAndADriftMovesPopularity) {
  const AccessTrace plain = ZipfTrace(1.05, TraceShape::kPlain);
  const AccessTrace scan = ZipfTrace(1.05, TraceShape::kScan);
  const AccessTrace drift = ZipfTrace(1.05, TraceShape::kDrift);
  EXPECT_EQ(scan.name, "zipf1.05+scan");
  for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(scan.accesses[25000 + i], i);
  EXPECT_TRUE(
      std::equal(plain.accesses.begin(), plain.accesses.begin() + 25000, scan.accesses.begin()));
  const auto hot_of = [](const AccessTrace& trace, size_t from) {
    std::vector<size_t> counts(trace.rows);
    for (size_t i = from; i < from + 20000; ++i) ++counts[trace.accesses[i]];
    std::set<size_t> hot;
    for (size_t row = 0; row < counts.size(); ++row) {
      if (counts[row] >= 10) hot.insert(row);
    }
    return hot;
  };
  const auto stayed = [&](const AccessTrace& trace) {
    const std::set<size_t> before = hot_of(trace, 0), after = hot_of(trace, 180000);
    size_t both = 0;
    for (const size_t row : before) both += after.contains(row);
    return static_cast<double>(both) / static_cast<double>(before.size());
  };
  EXPECT_GT(stayed(plain), stayed(drift) + 0.2);
}

TEST(AccessTraces, AnyTraceTakesAScanOrDrifts) {
  AccessTrace plain{.name = "t", .rows = 3000, .accesses = {}};
  for (uint32_t i = 0; i < 60000; ++i) plain.accesses.push_back(i % 7 * 100);
  const AccessTrace scan = Shaped(plain, TraceShape::kScan);
  EXPECT_EQ(scan.name, "t+scan");
  ASSERT_EQ(scan.accesses.size(), 70000u);
  for (size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(scan.accesses[25000 + i], i % 3000) << "in order, and round";
    ASSERT_EQ(scan.accesses[55000 + i], (5000 + i) % 3000) << "goes on";
  }
  EXPECT_TRUE(std::equal(plain.accesses.begin() + 25000, plain.accesses.begin() + 50000,
                         scan.accesses.begin() + 30000));

  const AccessTrace drift = Shaped(plain, TraceShape::kDrift);
  EXPECT_EQ(drift.name, "t+drift");
  EXPECT_EQ(drift.shape, TraceShape::kDrift);
  ASSERT_EQ(drift.accesses.size(), plain.accesses.size());
  const auto rows_of = [](const AccessTrace& trace, size_t from) {
    const auto begin = trace.accesses.begin() + static_cast<ptrdiff_t>(from);
    return std::set(begin, begin + 7);
  };
  EXPECT_EQ(rows_of(drift, 0).size(), 7u) << "one row has one identity at a time";
  EXPECT_EQ(rows_of(drift, 1), rows_of(plain, 1)) << "and few change in a short time";
  EXPECT_NE(rows_of(drift, 59990), rows_of(plain, 59990));
}

TEST(AccessTraces, AFileIsOneNumberALine) {
  const TempDir dir;
  const auto read = [&](const std::string& text) {
    std::ofstream(dir / "t.txt") << text;
    return ReadTrace(dir / "t.txt");
  };
  const Result<AccessTrace> trace = read("77\n12\n77\n");
  ASSERT_OK(trace);
  EXPECT_EQ(trace.value().name, "t");
  EXPECT_EQ(trace.value().rows, 2u);
  EXPECT_EQ(trace.value().accesses, (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_THAT(read("1\nx\n").status().message(), HasSubstr(":2:1: the id is \"x\""));
  EXPECT_THAT(read("").status().message(), HasSubstr("is empty"));
  EXPECT_EQ(ReadTrace(dir / "none").status().exit_code(), 2);
}

TEST(CacheHitRatio, LruAndLfuOfAnySlotAreCloseToTheTextbooks) {
  AccessTrace trace = ZipfTrace(1.05, TraceShape::kPlain);
  trace.accesses.resize(60000);
  constexpr size_t kSlots = 800;  // All are looked at for a victim; rows of a batch are pinned.
  EXPECT_NEAR(CacheHitRatio(trace, {.slots = kSlots, .ways = 1, .policy = "lru"}),
              LruHitRatio(trace, kSlots), 0.01);
  EXPECT_NEAR(CacheHitRatio(trace, {.slots = kSlots, .ways = 1, .policy = "lfu"}),
              LfuHitRatio(trace, kSlots), 0.01);
}

// A policy whose counts decide nothing would be LRU under another name, and pass every other test.
// clock, which counts nothing, is told from LRU by RowCache.Clock*.
TEST(CacheHitRatio, PoliciesThatCountLookupsBeatLru) {
  AccessTrace trace = ZipfTrace(1.05, TraceShape::kPlain);
  trace.accesses.resize(100000);
  AccessCounter counter("t", trace.rows);
  for (const uint32_t row : trace.accesses) counter.Add(row);
  CacheRun run{.slots = trace.rows / 20, .policy = "lru"};
  run.access_counts = std::make_shared<const RowAccessCounts>(counter.Finish());
  for (const uint32_t ways : {1u, 16u}) {
    run.ways = ways;
    run.policy = "lru";
    const double lru = CacheHitRatio(trace, run);
    for (const char* policy : {"lfu", "lrfu", "w_tinylfu", "dataset"}) {
      run.policy = policy;
      EXPECT_GT(CacheHitRatio(trace, run), lru + 0.03) << policy << ", " << ways << " ways";
    }
  }
}

// The targets of the whole bench at one of its points, so that they are not lost unseen.
TEST(CacheHitRatio, TheDefaultIsAsGoodAsTheBetterAndPrefetchesBringItNearBelady) {
  AccessTrace trace = ZipfTrace(1.05, TraceShape::kDrift);
  trace.accesses.resize(60000);
  constexpr size_t kSlots = 500;
  const double lfu = LfuHitRatio(trace, kSlots), lru = LruHitRatio(trace, kSlots);
  const CacheRun run{.slots = kSlots, .ways = 1, .policy = kDefaultCachePolicy};
  const double hits = CacheHitRatio(trace, run);
  EXPECT_GT(hits, std::max(lru, lfu) - 0.015);
  CacheRun prefetched = run;
  prefetched.prefetched_batches = 200;
  EXPECT_GT(CacheHitRatio(trace, prefetched), (lfu + BeladyHitRatio(trace, kSlots)) / 2);
  CacheRun of_ways = run;
  of_ways.ways = 16;
  EXPECT_GT(CacheHitRatio(trace, of_ways), std::max(lru, lfu) - 0.03);
}

}  // namespace
}  // namespace rowhouse
