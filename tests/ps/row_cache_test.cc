#include "ps/cache/row_cache.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr RecordLayout kRowCacheLayout{.dim = 2, .state_floats = 1};

RowCacheOptions Options(uint64_t rows, uint64_t capacity, uint32_t ways) {
  return {.layout = kRowCacheLayout,
          .first_row = 100,
          .rows = rows,
          .capacity_rows = capacity,
          .ways = ways};
}

float& RowCacheValue(RowCache& cache, RowCache::Slot slot) {
  return kRowCacheLayout.weights(cache.record(slot))[0];
}

TEST(RowCache, ASliceThatFitsIsADirectArrayThatNeverEvicts) {
  RowCache cache(Options(8, 8, 2));
  EXPECT_TRUE(cache.is_direct());
  for (uint64_t row = 100; row < 108; ++row) {
    EXPECT_EQ(cache.Find(RowId{row}), RowCache::kNone);
    CacheVictim victim;
    const RowCache::Slot slot = cache.Claim(RowId{row}, 0, &victim);
    EXPECT_TRUE(victim.record.empty());
    RowCacheValue(cache, slot) = static_cast<float>(row);
  }
  for (uint64_t row = 100; row < 108; ++row) {
    EXPECT_EQ(RowCacheValue(cache, cache.Find(RowId{row})), static_cast<float>(row));
  }
}

TEST(RowCache, LookupsAreInTheTrailerOfARecordThatIsReadOrLeavesTheArray) {
  RowCache cache(Options(8, 8, 2));
  CacheVictim victim;
  const auto claim = [&](uint64_t row) {
    const RowCache::Slot slot = cache.Claim(RowId{row}, 0, &victim);
    kRowCacheLayout.set_trailer(cache.record(slot), {.lsn = 5});
    return slot;
  };
  const RowCache::Slot few = claim(100), many = claim(101), moved = claim(102);
  const auto trailer = [&](RowCache::Slot slot) {
    return kRowCacheLayout.trailer(cache.record(slot));
  };
  cache.set_dirty(few);
  for (int i = 0; i < 3; ++i) cache.CountLookups(few, 7);
  EXPECT_TRUE(cache.is_dirty(few));
  EXPECT_EQ(trailer(few).frequency, 21u);
  EXPECT_EQ(trailer(few).frequency, 21u) << "counted once";
  EXPECT_EQ(trailer(few).lsn, 5u);
  EXPECT_TRUE(cache.is_dirty(few));
  for (int i = 0; i < 100; ++i) cache.CountLookups(many, 3);
  cache.CountLookups(many, UINT32_MAX - 1000);
  EXPECT_EQ(trailer(many).frequency, UINT32_MAX - 700);
  EXPECT_NE(cache.Find(RowId{101}), RowCache::kNone);
  cache.CountLookups(moved, 4);
  cache.Resize(6, [](const CacheVictim&) {});
  EXPECT_FALSE(cache.is_direct());
  const RowCache::Slot to = cache.Find(RowId{102});
  ASSERT_NE(to, RowCache::kNone);
  EXPECT_EQ(trailer(to).frequency, 4u);
  cache.CountLookups(to, 2);
  EXPECT_EQ(trailer(to).frequency, 6u);
}

TEST(RowCache, SetsTimesWaysIsAtMostTheCapacity) {
  EXPECT_EQ(RowCache(Options(1000, 10, 4)).capacity_rows(), 9u) << "3 sets of 3, not 2 of 4";
  EXPECT_EQ(RowCache(Options(1000, 31, 16)).capacity_rows(), 30u) << "2 of 15, not 1 of 16";
  EXPECT_EQ(RowCache(Options(1000, 810, 16)).capacity_rows(), 800u) << "50 of 16, not 51 of 15";
  EXPECT_EQ(RowCache(Options(1000, 3, 16)).capacity_rows(), 3u);
  EXPECT_EQ(RowCache(Options(1000, 0, 16)).capacity_rows(), 1u);
  EXPECT_EQ(RowCache(Options(1000, 810, 1)).capacity_rows(), 810u) << "any slot";
}

TEST(RowCache, ASlotTakesEightBytesBesideItsRecord) {
  EXPECT_EQ(RowCache(Options(100000, 5000, 16)).bytes_per_slot(), 8u);
  EXPECT_EQ(RowCache(Options(100000, 5000, 16)).index_bytes(), 0u);
  EXPECT_EQ(RowCache(Options(100000, 100000, 16)).bytes_per_slot(), 1u) << "a direct array";
  EXPECT_EQ(RowCache(Options(uint64_t{1} << 40, 16, 16)).bytes_per_slot(), 12u) << "wide tags";
  EXPECT_EQ(RowCache(Options(100000, 4096, 1)).index_bytes(), 8192u * 4) << "any slot";
}

TEST(RowCache, WideTagsTellAllRowsOfATableApart) {
  for (const uint32_t ways : {1u, 16u}) {
    RowCache cache(Options(uint64_t{1} << 40, 64, ways));
    CacheVictim victim;
    for (uint64_t i = 0; i < 300; ++i) {
      const RowId row{100 + (i << 31)};
      ASSERT_EQ(cache.Find(row), RowCache::kNone);
      const RowCache::Slot slot = cache.Claim(row, i, &victim);
      ASSERT_EQ(cache.Find(row), slot);
      if (victim.record.empty()) continue;
      EXPECT_EQ((Raw(victim.row) - 100) % (uint64_t{1} << 31), 0u);
      EXPECT_LT(victim.row, row);
    }
  }
}

TEST(RowCache, TheLeastRecentlyUsedUnpinnedRowMakesRoom) {
  RowCacheOptions options = Options(1000, 3, 3);
  options.policy = "lru";
  RowCache cache(options);
  CacheVictim victim;
  for (uint64_t row : {101, 102, 103}) {
    cache.Pin(cache.Claim(RowId{row}, 5, &victim), 5);
  }
  cache.Pin(cache.Find(RowId{101}), 5);
  EXPECT_EQ(cache.Claim(RowId{104}, 5, &victim), RowCache::kNone) << "all are pinned for step 5";
  ASSERT_NE(cache.Claim(RowId{104}, 6, &victim), RowCache::kNone);
  EXPECT_EQ(victim.row, RowId{102});
  EXPECT_EQ(cache.Find(RowId{102}), RowCache::kNone);
  EXPECT_NE(cache.Find(RowId{101}), RowCache::kNone);
}

TEST(RowCache, ClockPassesOverRowsUsedAgainAndForgetsThatItDid) {
  RowCacheOptions options = Options(1000, 3, /*ways=*/1);
  options.policy = "clock";
  RowCache cache(options);
  CacheVictim victim;
  uint64_t step = 0;
  const auto bring = [&](uint64_t row) {
    ++step;
    cache.Pin(cache.Claim(RowId{row}, step, &victim), step);
    return victim.row;
  };
  for (const uint64_t row : {101, 102, 103}) bring(row);
  for (const uint64_t row : {102, 103, 101}) cache.Pin(cache.Find(RowId{row}), ++step);
  EXPECT_EQ(bring(104), RowId{101}) << "a whole round; LRU would drop 102";
  cache.Pin(cache.Find(RowId{102}), ++step);
  EXPECT_EQ(bring(105), RowId{103}) << "FIFO would drop 102";
}

TEST(RowCache, AVictimComesWithItsRecordAndWhetherItIsDirty) {
  RowCache cache(Options(1000, 1, 1));
  CacheVictim victim;
  const RowCache::Slot slot = cache.Claim(RowId{101}, 0, &victim);
  RowCacheValue(cache, slot) = 7.0f;
  cache.set_dirty(slot);
  ASSERT_NE(cache.Claim(RowId{102}, 0, &victim), RowCache::kNone);
  EXPECT_EQ(victim.row, RowId{101});
  EXPECT_TRUE(victim.is_dirty);
  ASSERT_EQ(victim.record.size(), kRowCacheLayout.bytes());
  EXPECT_EQ(kRowCacheLayout.weights(victim.record.data())[0], 7.0f);
  EXPECT_FALSE(cache.is_dirty(cache.Find(RowId{102})));
}

TEST(RowCache, DirtyRowsAreListedByAscendingRow) {
  RowCache cache(Options(1000, 64, 4));
  CacheVictim victim;
  for (uint64_t row : {900, 150, 400, 160}) {
    const RowCache::Slot slot = cache.Claim(RowId{row}, 0, &victim);
    if (row != 400) cache.set_dirty(slot);
  }
  std::vector<RowId> rows;
  for (const auto& [row, slot] : cache.DirtySlots(0, cache.capacity_rows())) {
    rows.push_back(row);
    EXPECT_EQ(cache.Find(row), slot);
  }
  EXPECT_EQ(rows, (std::vector<RowId>{RowId{150}, RowId{160}, RowId{900}}));
}

}  // namespace
}  // namespace rowhouse
