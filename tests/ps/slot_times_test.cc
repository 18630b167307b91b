#include "ps/cache/slot_times.h"

#include <array>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class SlotTimesTest : public testing::Test {
 protected:
  SlotTimesTest() { table_.Put(0, table_.PlaceOf(RowId{0})); }

  // The row in slot 0 came in for `step`.
  SlotWord& Begin(uint64_t step) {
    times_.AdvanceTo(step, table_);
    return table_.word(0) = times_.NewWord(step);
  }

  const std::unique_ptr<CachePolicy> policy_ = CachePolicies().Make("lru", {}).value();
  SlotTable table_{{.rows = 100, .capacity_rows = 4, .ways = 1}};
  SlotTimes times_{policy_.get()};
  const std::array<std::byte, sizeof(RecordTrailer)> trailer_{};
};

TEST_F(SlotTimesTest, ARowThatComesInIsNotPinnedUntilItIsUsed) {
  SlotWord& word = Begin(10);
  EXPECT_FALSE(times_.IsPinned(word, 10));
  times_.Use(word, 10, trailer_.data());
  EXPECT_TRUE(times_.IsPinned(word, 10));
  EXPECT_FALSE(times_.IsPinned(word, 11));
}

TEST_F(SlotTimesTest, AgesPassTheEndOf16BitsAndAreBounded) {
  SlotWord& word = Begin(65530);
  times_.Use(word, 65530, trailer_.data());
  times_.AdvanceTo(65540, table_);
  EXPECT_EQ(times_.AgeAt(word, 65540), 10u);
  for (uint64_t step = 65540; step < 200000; step += 1000) times_.AdvanceTo(step, table_);
  EXPECT_GE(times_.AgeAt(word, times_.now()), 0x4000u);
  EXPECT_LT(times_.AgeAt(word, times_.now()), 0x8000u);
}

TEST_F(SlotTimesTest, OfTwoNextUsesTheEarlierIsNotedAndTheLaterReturned) {
  SlotWord& word = Begin(10);
  times_.Use(word, 10, trailer_.data());
  EXPECT_FALSE(times_.NoteNextUse(word, 15));
  EXPECT_EQ(times_.StepOf(word), 15);
  EXPECT_TRUE(times_.IsPinned(word, 10)) << "still";
  const auto later = times_.NoteNextUse(word, 12);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->after, 12u);
  EXPECT_EQ(later->step, 15u);
  EXPECT_EQ(times_.StepOf(word), 12);
  times_.AdvanceTo(12, table_);
  times_.Use(word, 12, trailer_.data());
  EXPECT_FALSE(word.is_next_use_known());
}

}  // namespace
}  // namespace rowhouse
