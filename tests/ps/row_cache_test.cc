#include "ps/row_cache.h"

#include <map>
#include <random>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr RecordLayout kLayout{.dim = 2, .state_floats = 1};

RowCacheOptions Options(uint64_t rows, uint64_t capacity, uint32_t ways) {
  return {
      .layout = kLayout, .first_row = 100, .rows = rows, .capacity_rows = capacity, .ways = ways};
}

float& Value(RowCache& cache, RowCache::Slot slot) {
  return kLayout.weights(cache.record(slot))[0];
}

TEST(RowCache, ASliceThatFitsIsADirectArrayThatNeverEvicts) {
  RowCache cache(Options(8, 8, 2));
  EXPECT_TRUE(cache.is_direct());
  for (uint64_t row = 100; row < 108; ++row) {
    EXPECT_EQ(cache.Find(RowId{row}), RowCache::kNone);
    CacheVictim victim;
    const RowCache::Slot slot = cache.Claim(RowId{row}, 0, &victim);
    EXPECT_TRUE(victim.record.empty());
    Value(cache, slot) = static_cast<float>(row);
  }
  for (uint64_t row = 100; row < 108; ++row) {
    EXPECT_EQ(Value(cache, cache.Find(RowId{row})), static_cast<float>(row));
  }
}

TEST(RowCache, CapacityIsRoundedUpToWholeSets) {
  EXPECT_EQ(RowCache(Options(1000, 10, 4)).capacity_rows(), 12u);
  EXPECT_EQ(RowCache(Options(1000, 3, 16)).capacity_rows(), 3u);
  EXPECT_EQ(RowCache(Options(1000, 0, 16)).capacity_rows(), 1u);
}

TEST(RowCache, TheLeastRecentlyUsedUnpinnedRowMakesRoom) {
  RowCache cache(Options(1000, 3, 3));
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

TEST(RowCache, AVictimComesWithItsRecordAndWhetherItIsDirty) {
  RowCache cache(Options(1000, 1, 1));
  CacheVictim victim;
  const RowCache::Slot slot = cache.Claim(RowId{101}, 0, &victim);
  Value(cache, slot) = 7.0f;
  cache.set_dirty(slot);
  ASSERT_NE(cache.Claim(RowId{102}, 0, &victim), RowCache::kNone);
  EXPECT_EQ(victim.row, RowId{101});
  EXPECT_TRUE(victim.is_dirty);
  ASSERT_EQ(victim.record.size(), kLayout.bytes());
  EXPECT_EQ(kLayout.weights(victim.record.data())[0], 7.0f);
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

// A million random finds and claims against a plain map: what the cache holds is always what was
// put there last, and a dirty record never disappears without having been handed out.
TEST(RowCache, NoDirtyRecordIsEverLost) {
  RowCache cache(Options(500, 60, 4));
  std::map<RowId, float> store;  // what was written back
  std::map<RowId, float> truth;  // what every row should be
  std::mt19937 random(3);
  CacheVictim victim;
  for (uint64_t i = 0; i < 100000; ++i) {
    const RowId row{100 + random() % 500};
    RowCache::Slot slot = cache.Find(row);
    if (slot == RowCache::kNone) {
      slot = cache.Claim(row, i, &victim);
      ASSERT_NE(slot, RowCache::kNone);
      if (victim.is_dirty) store[victim.row] = kLayout.weights(victim.record.data())[0];
      Value(cache, slot) = store[row];
    }
    ASSERT_EQ(Value(cache, slot), truth[row]) << "access " << i;
    if (random() % 3 == 0) {
      truth[row] = Value(cache, slot) = static_cast<float>(i);
      cache.set_dirty(slot);
    }
  }
}

}  // namespace
}  // namespace rowhouse
