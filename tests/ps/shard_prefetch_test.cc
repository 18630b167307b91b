// Rows that a worker prefetches: read before it pulls them, kept as long as they are needed.
#include <algorithm>

#include "tests/testing/shard_with_store.h"

namespace rowhouse {
namespace {

class ShardPrefetchTest : public ShardWithStore {};

TEST_F(ShardPrefetchTest, APrefetchedRowIsThereWhenItIsPulled) {
  Open({.node = {.cache_ratio = 0.25, .cache_ways = 16}});
  StoreAllRows();
  Prefetch(1, {50, 51});
  ASSERT_TRUE(IsNext<ReadRows>());
  CarryOutAll();
  const uint64_t reads = shard_->stats().pulls_from_store;
  const uint64_t pull = Pull(1, {50, 51});
  ASSERT_TRUE(answers_.contains(pull)) << "no store action may be waited for";
  EXPECT_EQ(Pulled(pull), (std::vector<float>{first_[50] - 0.5f, first_[51] - 0.5f}));
  EXPECT_FALSE(HasWaited(pull));
  EXPECT_EQ(shard_->stats().pulls_from_store, reads);
  EXPECT_EQ(shard_->stats().rows_announced, 2u);
}

// Rows are counted by where a pull found them; what is read ahead is in memory, or still on its
// way.
TEST_F(ShardPrefetchTest, PulledRowsAreCountedByWhereTheyWere) {
  Open({.node = {.cache_ratio = 0.25, .cache_ways = 16}});
  RowsPulled before;
  const auto expect_more = [&](uint64_t first_touched, uint64_t memory, uint64_t store) {
    const RowsPulled now = shard_->stats().pulled;
    EXPECT_EQ(now.first_touched, before.first_touched + first_touched);
    EXPECT_EQ(now.from_memory, before.from_memory + memory);
    EXPECT_EQ(now.from_store, before.from_store + store);
    before = now;
  };
  Pull(0, {1, 2, 3});
  expect_more(3, 0, 0);
  Pull(0, {1, 2});
  expect_more(0, 2, 0);
  Pull(0, {40, 1}, /*eval=*/true);
  expect_more(0, 0, 0);

  Open({.node = {.cache_ratio = 0.25, .cache_ways = 16}});
  StoreAllRows();
  before = shard_->stats().pulled;
  EXPECT_EQ(before.first_touched, kRows);
  Prefetch(1, {50});
  CarryOutAll();
  Pull(1, {50});
  expect_more(0, 1, 0);
  Prefetch(1, {51});
  const uint64_t waits = Pull(1, {51, 52});
  EXPECT_FALSE(answers_.contains(waits)) << "one is on its way, one is stored";
  CarryOutAll();
  expect_more(0, 0, 2);

  // What STATS says of the table is what it says of all.
  const uint64_t stats = Stats(0);
  CarryOutAll();
  const StatsReply reply = DecodeBody<StatsReply>(answers_.at(stats)).value();
  ASSERT_EQ(reply.tables.size(), 1u);
  EXPECT_EQ(reply.tables[0].pulled.first_touched, reply.pulled.first_touched);
  EXPECT_EQ(reply.tables[0].pulled.from_memory, reply.pulled.from_memory);
  EXPECT_EQ(reply.tables[0].pulled.from_store, reply.pulled.from_store);
  EXPECT_EQ(reply.tables[0].rows_pushed, kRows);
  EXPECT_GT(reply.process_peak_bytes, uint64_t{1} << 20);
}

// A cache remembers one next use of a row; the shard those after it.
TEST_F(ShardPrefetchTest, ARowPrefetchedForSeveralStepsIsThereInAllOfThem) {
  for (const bool is_read_first : {true, false}) {
    for (const bool earliest_first : {true, false}) {
      Open({.node = {.cache_ratio = 0.25, .cache_ways = 16}});
      StoreAllRows();
      std::vector<uint64_t> steps = {1, 4, 9};
      if (!earliest_first) std::ranges::reverse(steps);
      for (const uint64_t step : steps) {
        Prefetch(step, {50});
        if (is_read_first) CarryOutAll();
      }
      CarryOutAll();
      for (uint64_t step = 1; step < 10; ++step) {
        std::vector<uint64_t> rows;  // Half the cache, others in each step.
        for (uint64_t i = 0; i < 8; ++i) rows.push_back((step * 8 + i) % 48);
        std::ranges::sort(rows);
        if (step == 1 || step == 4 || step == 9) {
          const uint64_t pull = Pull(step, {50});
          EXPECT_TRUE(answers_.contains(pull)) << "step " << step;
          CarryOutAll();
        }
        Pull(step, rows);
        CarryOutAll();
        Push(step, rows);
        CarryOutAll();
      }
    }
  }
}

TEST_F(ShardPrefetchTest, APullOfRowsOnTheirWayReadsThemOnce) {
  Open({.node = {.cache_ratio = 0.25, .cache_ways = 16}});
  StoreAllRows();
  const std::vector<uint64_t> rows = {50, 51, 52, 53};
  Prefetch(1, rows);
  const uint64_t pull = Pull(1, rows);
  EXPECT_FALSE(answers_.contains(pull));
  uint64_t rows_read = 0;
  while (!waiting_.empty()) {
    if (const auto* read = std::get_if<ReadRows>(&waiting_.front())) {
      for (const StoreRead& one : read->reads) rows_read += one.rows.size();
    }
    CarryOutOne();
  }
  EXPECT_LE(rows_read, rows.size());
  EXPECT_EQ(Pulled(pull)[3], first_[53] - 0.5f);
  EXPECT_TRUE(HasWaited(pull));
}

// The row is read for a later step, then changed and thrown out before the read comes back: what
// was read is older than what was written.
TEST_F(ShardPrefetchTest, ARowWrittenSinceItWasReadAheadIsReadAgain) {
  Open({.node = {.cache_ratio = 1.0 / kRows, .cache_ways = 1}});  // room for one row
  StoreAllRows();
  const uint64_t pull = Pull(1, {20});
  while (IsNext<WriteRows>()) CarryOutOne();
  ASSERT_TRUE(IsNext<ReadRows>());
  Prefetch(2, {20});  // Not there yet: read for the pull, and for this.
  CarryOutOne();
  ASSERT_TRUE(answers_.contains(pull));
  ASSERT_TRUE(IsNext<ReadRows>()) << "of the prefetch";
  ShardAction held = std::move(waiting_.front());
  waiting_.pop_front();
  ShardEvent read = store_->Execute(held);
  Push(1, {20});
  ASSERT_EQ(shard_->next_step(), 2u);
  const uint64_t other = Pull(2, {30});  // Takes the place of row 20, which is written.
  CarryOutAll();
  ASSERT_TRUE(answers_.contains(other));
  Handle(std::move(read));
  const uint64_t again = Pull(2, {20});
  CarryOutAll();
  EXPECT_EQ(Pulled(again)[0], first_[20] - 1.0f);
}

TEST_F(ShardPrefetchTest, APrefetchThatIsWrongOrLateIsIgnored) {
  Open({.node = {.cache_ratio = 0.25}});
  StoreAllRows();
  Prefetch(0, {50});
  EXPECT_TRUE(waiting_.empty()) << "step 0 is over";
  const uint64_t wrong = Prefetch(1, {kRows});
  EXPECT_TRUE(waiting_.empty()) << "no such row";
  EXPECT_FALSE(answers_.contains(wrong)) << "nobody is answered";
  const uint64_t pull = Pull(1, {50});
  CarryOutAll();
  EXPECT_EQ(Pulled(pull).size(), 1u);
}

}  // namespace
}  // namespace rowhouse
