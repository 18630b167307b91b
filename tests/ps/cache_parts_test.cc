// The parts of a cache by themselves: tags, places, index, access_counts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "ps/cache/cache_places.h"
#include "ps/cache/row_access_counts.h"
#include "ps/cache/slot_table.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

RC_GTEST_PROP(TagMatchProperty, VectorsAndScalarsGiveTheSameBits, ()) {
  std::array<uint32_t, kTagsPerMatch + 3> tags;
  for (uint32_t& tag : tags) {
    tag = *rc::gen::elementOf(std::vector<uint32_t>{0, 1, 0x7fffffff, 0x80000000, 0xffffffff});
  }
  const auto offset = *rc::gen::inRange<size_t>(0, 4);
  for (const uint32_t wanted : {0u, 1u, 0x80000000u, 0xffffffffu, 2u}) {
    const uint32_t* from = tags.data() + offset;
    RC_ASSERT(MatchTags(from, wanted) == MatchTagsScalar(from, wanted));
  }
}

TEST(TagMatch, ABitForEachEqualTag) {
  std::array<uint32_t, kTagsPerMatch> tags = {};
  tags[0] = tags[7] = tags[15] = 9;
  EXPECT_EQ(MatchTags(tags.data(), 9), 0x8081u);
  EXPECT_EQ(MatchTags(tags.data(), 8), 0u);
}

RC_GTEST_PROP(HighByteProperty, VectorsAndScalarsGiveTheSameBits, ()) {
  std::array<uint32_t, kTagsPerMatch> words;
  for (uint32_t& word : words) word = *rc::gen::arbitrary<uint32_t>();
  RC_ASSERT(HighByteLowBits(words.data()) == HighByteLowBitsScalar(words.data()));
}

TEST(HighByte, ABitForEachWordThatHasIt) {
  std::array<uint32_t, kTagsPerMatch> words = {};
  words[2] = 0x01000000;
  words[3] = 0xfe00ffff;
  words[15] = 0xffffffff;
  EXPECT_EQ(HighByteLowBits(words.data()), 0x8004u);
}

RC_GTEST_PROP(CachePlacesProperty, SetAndTagSayWhichRowItIs, ()) {
  const auto bits = *rc::gen::inRange<int>(0, 63);
  const uint64_t rows =
      (uint64_t{1} << bits) + *rc::gen::inRange<uint64_t>(0, uint64_t{1} << (bits / 2));
  const auto sets = *rc::gen::inRange<uint64_t>(1, 1 << 20);
  const CachePlaces places(rows, sets);
  for (int i = 0; i < 20; ++i) {
    const uint64_t position = *rc::gen::arbitrary<uint64_t>() % rows;
    const CachePlaces::Place place = places.Of(position);
    RC_ASSERT(place.set < sets);
    RC_ASSERT(places.PositionOf(place.tag) == position);
    if (!places.is_wide()) {
      RC_ASSERT(places.PositionOf(place.set, static_cast<uint32_t>(place.tag)) == position);
    }
  }
}

TEST(CachePlaces, RowsOfASliceFillItsSetsEvenly) {
  constexpr uint64_t kRows = 50000, kSets = 300;
  const CachePlaces places(kRows, kSets);
  std::vector<int> in_set(kSets);
  // Neighbours, as the hottest rows often are.
  for (uint64_t position = 0; position < 3000; ++position) ++in_set[places.Of(position).set];
  for (const int rows : in_set) EXPECT_LE(rows, 30);  // 10 expected
}

TEST(CachePlaces, TagsAreWideOnlyWhereASetHasTooManyRows) {
  EXPECT_FALSE(CachePlaces(uint64_t{1} << 32, 1).is_wide());
  EXPECT_TRUE(CachePlaces((uint64_t{1} << 32) + 1, 1).is_wide());
  EXPECT_FALSE(CachePlaces(uint64_t{1} << 40, 256).is_wide());
  EXPECT_TRUE(CachePlaces(uint64_t{1} << 40, 255).is_wide());
  EXPECT_FALSE(CachePlaces(1, 1).is_wide());
}

RC_GTEST_PROP(SlotIndexProperty, AgreesWithAMap, (uint32_t seed)) {
  constexpr uint32_t kSlots = 40;
  std::array<uint64_t, kSlots> tags = {};
  const auto tag_of = [&](uint32_t slot) { return tags[slot]; };
  SlotIndex index(kSlots);
  std::map<uint64_t, uint32_t> map;
  SplitMix64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t tag = random.Next() % 60;
    const auto found = map.find(tag);
    RC_ASSERT(index.Find(tag, tag_of) == (found == map.end() ? SlotIndex::kNone : found->second));
    if (found != map.end()) {
      index.Erase(found->second, tag_of);
      map.erase(found);
    } else if (map.size() < kSlots) {
      uint32_t slot = 0;
      while (std::ranges::any_of(map, [&](const auto& entry) { return entry.second == slot; })) {
        ++slot;
      }
      tags[slot] = tag;
      index.Insert(tag, slot);
      map[tag] = slot;
    }
  }
}

TEST(RowAccessCounts, HotRowsByNumberOthersByTheMeanOfTheirRange) {
  // Ranges 0..9, 10..19, 20..24; 28 of the second's 30 lookups are row 12's.
  const RowAccessCounts access_counts({.name = "t",
                                       .rows = 25,
                                       .range_rows = 10,
                                       .ranges = {20, 30, 40},
                                       .hottest = {{12, 28}, {3, 2}}});
  EXPECT_EQ(access_counts.Of(RowId{12}), 28.0);
  EXPECT_EQ(access_counts.Of(RowId{3}), 2.0);
  EXPECT_EQ(access_counts.Of(RowId{4}), 2.0);         // 18 lookups, 9 rows
  EXPECT_EQ(access_counts.Of(RowId{11}), 2.0 / 9.0);  // 2, 9
  EXPECT_EQ(access_counts.Of(RowId{24}), 8.0);        // 40, 5
  EXPECT_EQ(access_counts.Of(RowId{25}), 0.0) << "beyond the counted table";
  const auto even = [](RowId row) { return Raw(row) % 2 == 0; };
  const auto hottest = access_counts.Hottest(5, 0, 25, even);
  EXPECT_EQ(hottest,
            (std::vector<std::pair<RowId, uint64_t>>{
                {RowId{12}, 28}, {RowId{20}, 8}, {RowId{22}, 8}, {RowId{24}, 8}, {RowId{0}, 2}}));
  EXPECT_EQ(access_counts.Hottest(100, 0, 1000, even).size(), 13u);
  EXPECT_EQ(access_counts.Hottest(100, 9, 20, even).size(), 5u);
}

}  // namespace
}  // namespace rowhouse
