// What a RowCache promises whatever its policy: run for every registered one, with sets of ways and
// with any slot. A policy decides which rows stay and nothing else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <random>
#include <set>

#include "ps/cache/row_cache.h"
#include "tests/testing/row_cache_peer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr RecordLayout kLayout{.dim = 2, .state_floats = 1};
constexpr uint64_t kRows = 400;
constexpr uint64_t kCapacity = 48;
constexpr uint32_t kWays[] = {1, 4, 16};  // 1: any slot

float& ValueIn(RowCache& cache, RowCache::Slot slot) {
  return kLayout.weights(cache.record(slot))[0];
}
float ValueOf(const CacheVictim& victim) { return kLayout.weights(victim.record.data())[0]; }

class CachePolicyContract : public testing::TestWithParam<std::string> {
 protected:
  RowCacheOptions Options(uint32_t ways, uint64_t capacity = kCapacity) const {
    return {.layout = kLayout,
            .first_row = 100,
            .rows = kRows,
            .capacity_rows = capacity,
            .ways = ways,
            .policy = GetParam()};
  }
};

// Puts a row of this value in, as a pull does; what left, but for its bytes, is in *victim.
RowCache::Slot Bring(RowCache& cache, RowId row, uint64_t step, float value, CacheVictim* victim) {
  const RowCache::Slot slot = cache.Claim(row, step, victim);
  if (slot == RowCache::kNone) return slot;
  ValueIn(cache, slot) = value;
  kLayout.set_trailer(cache.record(slot),
                      {.last_step = static_cast<uint32_t>(step), .frequency = 1});
  cache.Pin(slot, step);
  return slot;
}

TEST_P(CachePolicyContract, RowsAreFoundTogetherWhereTheyAreFoundOneByOne) {
  for (const uint32_t ways : {1u, 3u, 16u}) {
    for (const uint64_t capacity : {kCapacity, kRows}) {  // the latter: a direct array
      RowCache cache(Options(ways, capacity));
      std::mt19937_64 random(ways);
      for (uint64_t step = 0; step < 200; ++step) {
        std::vector<RowId> rows(random() % (RowCache::kTogether + 1));
        for (RowId& row : rows) row = RowId{100 + random() % kRows};
        std::vector<RowCache::Slot> slots(rows.size()), one_by_one;
        cache.FindTogether(rows, slots);
        for (const RowId row : rows) one_by_one.push_back(cache.Find(row));
        ASSERT_EQ(slots, one_by_one) << ways << " ways, step " << step;
        if (rows.empty() || one_by_one[0] != RowCache::kNone) continue;
        CacheVictim victim;
        Bring(cache, rows[0], step, 1.0f, &victim);
      }
    }
  }
}

TEST_P(CachePolicyContract, ARowIsFoundWhereItWasClaimedUntilItLeaves) {
  for (const uint32_t ways : kWays) {
    RowCache cache(Options(ways));
    std::map<RowId, RowCache::Slot> resident;
    for (uint64_t i = 0; i < 1000; ++i) {
      const RowId row{100 + i * 37 % kRows};
      if (resident.contains(row)) continue;
      ASSERT_EQ(cache.Find(row), RowCache::kNone);
      CacheVictim victim;
      const RowCache::Slot slot = Bring(cache, row, i, 1.0f, &victim);
      ASSERT_NE(slot, RowCache::kNone);
      if (!victim.record.empty()) {
        ASSERT_EQ(resident.at(victim.row), slot) << "the place that it left is the one it had";
        ASSERT_EQ(resident.erase(victim.row), 1u);
      }
      resident[row] = slot;
      ASSERT_LE(resident.size(), cache.capacity_rows());
      for (const auto& [other, where] : resident) ASSERT_EQ(cache.Find(other), where);
    }
    EXPECT_GT(resident.size(), kCapacity * 3 / 4) << ways << " ways";
  }
}

TEST_P(CachePolicyContract, RowsPinnedForAStepAreNotClaimedInIt) {
  for (const uint32_t ways : kWays) {
    RowCache cache(Options(ways));
    std::set<RowId> pinned;
    uint64_t refused = 0;
    for (uint64_t row = 100; row < 100 + kRows; ++row) {
      CacheVictim victim;
      if (Bring(cache, RowId{row}, 7, 0.0f, &victim) == RowCache::kNone) {
        ++refused;
      } else {
        pinned.insert(RowId{row});
      }
      ASSERT_TRUE(victim.record.empty()) << "all that is there is pinned";
    }
    EXPECT_EQ(pinned.size(), cache.capacity_rows());
    EXPECT_EQ(refused, kRows - cache.capacity_rows());
    for (const RowId row : pinned) EXPECT_NE(cache.Find(row), RowCache::kNone);
    for (uint64_t row = 100; row < 100 + kRows; ++row) {
      if (pinned.contains(RowId{row})) continue;
      CacheVictim victim;
      ASSERT_NE(cache.Claim(RowId{row}, 8, &victim), RowCache::kNone) << "step 7 is over";
      break;
    }
  }
}

TEST_P(CachePolicyContract, AVictimHasTheBytesItHadAndWhetherTheyAreDirty) {
  for (const uint32_t ways : kWays) {
    RowCache cache(Options(ways));
    std::map<RowId, std::pair<float, bool>> resident;
    uint64_t victims = 0;
    for (uint64_t i = 0; i < kRows; ++i) {
      const RowId row{100 + i};
      CacheVictim victim;
      const RowCache::Slot slot = cache.Claim(row, i, &victim);
      if (!victim.record.empty()) {
        ++victims;
        ASSERT_EQ(victim.record.size(), kLayout.bytes());
        ASSERT_EQ(std::pair(ValueOf(victim), victim.is_dirty), resident.at(victim.row));
        resident.erase(victim.row);
      }
      EXPECT_FALSE(cache.is_dirty(slot)) << "a claimed slot is clean";
      ValueIn(cache, slot) = static_cast<float>(i);
      kLayout.set_trailer(cache.record(slot), {});
      if (i % 3 == 0) cache.set_dirty(slot);
      resident[row] = {static_cast<float>(i), i % 3 == 0};
    }
    EXPECT_EQ(victims + resident.size(), kRows);
  }
}

TEST_P(CachePolicyContract, DirtySlotsAreAllOfThemByAscendingRow) {
  for (const uint32_t ways : kWays) {
    RowCache cache(Options(ways));
    std::map<RowId, RowCache::Slot> dirty;
    for (uint64_t i = 0; i < 200; ++i) {
      const RowId row{100 + i * 53 % kRows};
      CacheVictim victim;
      const RowCache::Slot slot = Bring(cache, row, i, 0.0f, &victim);
      EXPECT_EQ(dirty.erase(victim.row), victim.is_dirty ? 1u : 0u);
      if (i % 2 == 0) {
        cache.set_dirty(slot);
        dirty[row] = slot;
      }
    }
    const auto found = cache.DirtySlots();
    EXPECT_EQ(found, (std::vector<std::pair<RowId, RowCache::Slot>>(dirty.begin(), dirty.end())));
    for (const auto& [row, slot] : found) cache.set_clean(slot);
    EXPECT_TRUE(cache.DirtySlots().empty());
  }
}

TEST_P(CachePolicyContract, RowsWithAKnownNextUseStayAndThenTheOneUsedLastGoes) {
  for (const uint32_t ways : {1u, 4u}) {
    RowCache cache(Options(ways, 4));  // One set of four either way.
    CacheVictim victim;
    const auto slot_of = [&](uint64_t row) { return cache.Find(RowId{row}); };
    for (uint64_t row = 100; row < 104; ++row) Bring(cache, RowId{row}, 1, 0.0f, &victim);
    cache.NoteNextUse(slot_of(100), 9);
    cache.NoteNextUse(slot_of(101), 30);
    cache.NoteNextUse(slot_of(101), 12);  // The earliest counts,
    cache.NoteNextUse(slot_of(101), 20);  // whatever comes after it.
    cache.NoteNextUse(slot_of(102), 11);
    Bring(cache, RowId{110}, 2, 0.0f, &victim);
    EXPECT_EQ(victim.row, RowId{103}) << "the one whose next use is not known";
    cache.NoteNextUse(slot_of(110), 10);
    Bring(cache, RowId{111}, 3, 0.0f, &victim);
    EXPECT_EQ(victim.row, RowId{101}) << "needed last";
    cache.NoteNextUse(slot_of(111), 4);
    // A row read in early must not drive out what is needed no later than itself.
    EXPECT_EQ(cache.Claim(RowId{112}, 4, &victim, /*wanted=*/11), RowCache::kNone);
    EXPECT_NE(cache.Claim(RowId{112}, 4, &victim, /*wanted=*/10), RowCache::kNone);
    EXPECT_EQ(victim.row, RowId{102});
  }
}

TEST_P(CachePolicyContract, ARowWithAKnownNextUseIsPinnedWhileAStepUsesIt) {
  for (const uint32_t ways : {1u, 4u}) {
    RowCache cache(Options(ways, 4));
    CacheVictim victim;
    for (uint64_t row = 100; row < 104; ++row) {
      const RowCache::Slot slot = Bring(cache, RowId{row}, 5, 0.0f, &victim);
      cache.NoteNextUse(slot, row - 90);  // 10 .. 13
      if (row != 100) cache.Pin(slot, 6);
    }
    EXPECT_EQ(cache.Claim(RowId{110}, 5, &victim), RowCache::kNone) << "all are used in step 5";
    ASSERT_NE(cache.Claim(RowId{110}, 6, &victim), RowCache::kNone);
    EXPECT_EQ(victim.row, RowId{100}) << "needed first, but the others are used in step 6";
    // When the step of the next use comes and goes without a use, the row is one like any other.
    std::set<RowId> left;
    for (uint64_t row = 120; row < 123; ++row) {
      Bring(cache, RowId{row}, 14, 0.0f, &victim);
      left.insert(victim.row);
    }
    EXPECT_EQ(left.size(), 3u);
    EXPECT_FALSE(left.contains(RowId{120}) || left.contains(RowId{121}));
  }
}

TEST_P(CachePolicyContract, StepsMayLieFarApartAndStartAnywhere) {
  for (const uint32_t ways : kWays) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{65534}, uint64_t{1} << 33}) {
      RowCache cache(Options(ways));
      uint64_t step = first;
      for (uint64_t i = 0; i < 300; ++i) {
        CacheVictim victim;
        const RowId row{100 + i % kRows};
        // A step that lies 2^15 or 2^16 behind must not pass for one that is to come.
        ASSERT_NE(Bring(cache, row, step, 0.0f, &victim), RowCache::kNone)
            << "row " << i << " of step " << step << " finds only pinned rows";
        step += std::array{uint64_t{1}, uint64_t{5000}, uint64_t{32768}, uint64_t{65536}}[i % 4];
      }
    }
  }
}

TEST_P(CachePolicyContract, ResizeLosesNothing) {
  for (const uint32_t ways : kWays) {
    RowCache cache(Options(ways));
    std::map<RowId, std::pair<float, bool>> resident;
    std::mt19937 random(5);
    uint64_t step = 0, evicted = 0;
    const auto leave = [&](const CacheVictim& victim) {
      ASSERT_EQ(std::pair(ValueOf(victim), victim.is_dirty), resident.at(victim.row));
      resident.erase(victim.row);
    };
    // Sets, a direct array, and back; from full and from half empty.
    for (const uint64_t capacity : {24, 100, 1, 400, 47, 1000, 300, 48}) {
      for (int i = 0; i < 150; ++i) {
        const RowId row{100 + random() % kRows};
        ++step;
        RowCache::Slot slot = cache.Find(row);
        if (slot == RowCache::kNone) {
          CacheVictim victim;
          slot = cache.Claim(row, step, &victim);
          if (!victim.record.empty()) leave(victim);
          ValueIn(cache, slot) = static_cast<float>(step);
          kLayout.set_trailer(cache.record(slot), {.frequency = 1});
          cache.Pin(slot, step);
          resident[row] = {static_cast<float>(step), false};
        }
        if (random() % 2 == 0) {
          cache.set_dirty(slot);
          resident[row].second = true;
        }
      }
      cache.Resize(capacity, [&](const CacheVictim& victim) {
        ++evicted;
        leave(victim);
      });
      ASSERT_EQ(cache.is_direct(), capacity >= kRows);
      ASSERT_LE(cache.capacity_rows(), std::min(capacity, kRows));
      ASSERT_LE(resident.size(), cache.capacity_rows());
      uint64_t dirty = 0;
      for (const auto& [row, what] : resident) {
        const RowCache::Slot slot = cache.Find(row);
        ASSERT_NE(slot, RowCache::kNone);
        ASSERT_EQ(std::pair(ValueIn(cache, slot), cache.is_dirty(slot)), what);
        dirty += what.second;
      }
      ASSERT_EQ(cache.DirtySlots().size(), dirty);
    }
    EXPECT_GT(evicted, 300u);
  }
}

TEST_P(CachePolicyContract, TheSameCallsEvictTheSameRows) {
  for (const uint32_t ways : kWays) {
    std::vector<std::vector<RowId>> runs(2);
    for (std::vector<RowId>& evicted : runs) {
      RowCache cache(Options(ways));
      std::mt19937 random(9);
      for (uint64_t i = 0; i < 4000; ++i) {
        const RowId row{100 + random() % 20 * (random() % 20)};
        if (const RowCache::Slot slot = cache.Find(row); slot != RowCache::kNone) {
          CountLookups(kLayout, cache.record(slot), 1);
          cache.Pin(slot, i / 8);
          continue;
        }
        CacheVictim victim;
        Bring(cache, row, i / 8, 0.0f, &victim);
        if (!victim.record.empty()) evicted.push_back(victim.row);
      }
    }
    EXPECT_GT(runs[0].size(), 100u);
    EXPECT_EQ(runs[0], runs[1]);
  }
}

// Random operations against a plain map of what every row should be and one of what was written
// back: the cache never shows other bytes, never loses a dirty record, never shows a row that left.
TEST_P(CachePolicyContract, RandomOperationsAgreeWithAMap) {
  const auto holds = rc::check([&] {
    const uint32_t ways = *rc::gen::elementOf(std::vector<uint32_t>{1, 2, 5, 16, 40});
    const auto rows = *rc::gen::inRange<uint64_t>(1, 120);
    RowCacheOptions options = Options(ways, *rc::gen::inRange<uint64_t>(0, 60));
    options.rows = rows;
    if (*rc::gen::arbitrary<bool>()) {
      options.order = RowOrder::Scattered(1000, 77);
      options.first_row = *rc::gen::inRange<uint64_t>(0, 1000 - rows + 1);
    }
    RowCache cache(options);
    const auto row_at = [&](uint64_t i) { return options.order.RowAt(options.first_row + i); };
    std::map<RowId, float> store, truth;
    std::map<RowId, uint64_t> pinned;  // until after this step
    auto step = *rc::gen::inRange<uint64_t>(0, 100000);
    const auto leaves = [&](const CacheVictim& victim, bool may_be_pinned) {
      if (victim.record.empty()) return;
      RC_ASSERT(may_be_pinned || !pinned.contains(victim.row) || pinned[victim.row] < step);
      RC_ASSERT(ValueOf(victim) == truth[victim.row]);
      if (victim.is_dirty) store[victim.row] = ValueOf(victim);
      RC_ASSERT(store[victim.row] == truth[victim.row]);
      pinned.erase(victim.row);
    };
    const auto seed = *rc::gen::arbitrary<uint32_t>();
    std::mt19937 random(seed);
    for (int i = 0; i < 300; ++i) {
      const RowId row = row_at(random() % rows);
      RowCache::Slot slot = cache.Find(row);
      const uint32_t what = random() % 16;
      if (what == 0) {
        step += random() % 3 == 0 ? random() % 40000 : 1;
      } else if (what == 1) {
        if (slot != RowCache::kNone) cache.NoteNextUse(slot, step + random() % 20);
      } else if (what == 2) {
        cache.Resize(random() % 70, [&](const CacheVictim& victim) { leaves(victim, true); });
        if (cache.is_direct()) pinned.clear();  // It keeps every row, and no pins.
      } else if (what == 3 && !cache.is_direct()) {
        CacheVictim victim;
        RowCachePeer::Evict(cache, row, step, &victim);
        leaves(victim, false);
      } else {
        if (slot == RowCache::kNone) {
          CacheVictim victim;
          slot = cache.Claim(row, step, &victim);
          if (slot == RowCache::kNone) {
            truth[row] = store[row] = static_cast<float>(i);
            continue;
          }
          leaves(victim, false);
          ValueIn(cache, slot) = store[row];
          kLayout.set_trailer(cache.record(slot), {.last_step = 1, .frequency = 2});
        }
        RC_ASSERT(ValueIn(cache, slot) == truth[row]);
        if (what < 10) {
          cache.Pin(slot, step);
          if (!cache.is_direct()) pinned[row] = step;
        }
        if (what % 2 == 0) {
          truth[row] = ValueIn(cache, slot) = static_cast<float>(i);
          cache.set_dirty(slot);
        }
      }
    }
    for (const auto& [row, slot] : cache.DirtySlots()) {
      RC_ASSERT(cache.Find(row) == slot);
      store[row] = ValueIn(cache, slot);
    }
    for (const auto& [row, value] : truth) RC_ASSERT(store[row] == value);
  });
  EXPECT_TRUE(holds);
}

INSTANTIATE_TEST_SUITE_P(Policies, CachePolicyContract, testing::ValuesIn(CachePolicies().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
