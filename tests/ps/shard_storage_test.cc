// A shard and its store, action by action: saves, sweeps, a full disk, and which rows it asks for.
#include <algorithm>
#include <map>

#include "sharding/plans/access_counts.h"
#include "tests/testing/shard_with_store.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class ShardStorageTest : public ShardWithStore {};

TEST_F(ShardStorageTest, ASaveWaitsForRoomBetweenItsPieces) {
  Open({.max_unwritten_bytes = 1});
  std::vector<uint64_t> rows = {1, 2, 3};
  const uint64_t pull = Pull(0, rows);
  CarryOutAll();
  ASSERT_EQ(Pulled(pull).size(), 3u);
  Push(0, rows);
  const uint64_t flush = Flush(1);
  ASSERT_TRUE(IsNext<WriteRows>());
  EXPECT_EQ(waiting_.size(), 1u) << "nothing follows before there is room";
  // The rows of the next step may not get into what is saved as that of this one.
  Push(1, rows);
  EXPECT_EQ(shard_->next_step(), 1u);
  for (int written = 0; written < 3; ++written) {
    ASSERT_TRUE(IsNext<WriteRows>());
    EXPECT_EQ(std::get<WriteRows>(waiting_.front()).writes.at(0).rows.size(), 1u);
    CarryOutOne();
  }
  ASSERT_TRUE(IsNext<SyncStore>());
  EXPECT_EQ(std::get<SyncStore>(waiting_.front()).steps, 1u);
  EXPECT_EQ(shard_->next_step(), 2u) << "all is on its way: the next step may change rows";
  EXPECT_FALSE(answers_.contains(flush));
  CarryOutAll();
  EXPECT_TRUE(answers_.contains(flush));
}

TEST_F(ShardStorageTest, WhoWaitsForAFullDiskIsToldAndWaitsOn) {
  Open({.node = {.cache_ratio = 0.1}, .max_unwritten_bytes = 1});
  Push(0, {1, 2, 3});
  CarryOutAll();
  const uint64_t flush = Flush(1);
  Handle(StoreBlocked{full_disk_}, 900);
  EXPECT_THAT(busy_[flush], HasSubstr("shard 0 waits: the disk is full"));
  const uint64_t pull = Pull(1, {40});
  Handle(StoreBlocked{full_disk_}, 950);
  EXPECT_THAT(busy_[pull], HasSubstr("the disk is full"));
  Handle(Tick{}, 1940);
  EXPECT_FALSE(answers_.contains(pull)) << "its 1000 ms began anew at 950";
  Handle(StoreUnblocked{});
  CarryOutAll();
  EXPECT_EQ(answers_.at(flush).header.type, MessageType::kFlushReply);
  EXPECT_EQ(Pulled(pull).size(), 1u);
}

// Nothing else may happen meanwhile: the shard wakes by itself.
TEST_F(ShardStorageTest, WhoWaitsForASaveIsToldBeforeItsTimeIsOver) {
  Open({.max_unwritten_bytes = 1});
  const uint64_t first = Pull(0, {1, 2, 3});
  CarryOutAll();
  ASSERT_EQ(Pulled(first).size(), 3u);
  Push(0, {1, 2, 3});
  Checkpoint(1);
  ASSERT_TRUE(std::ranges::any_of(waiting_, [](const ShardAction& action) {
    return std::holds_alternative<WriteDelta>(action);
  }));
  const uint64_t pull = Pull(1, {40});
  EXPECT_THAT(busy_[pull], HasSubstr("the save of step 1 has"));
  busy_.clear();
  EXPECT_EQ(wake_at_, 1000);
  Handle(Tick{}, 1000);
  EXPECT_THAT(busy_[pull], HasSubstr("the save of step 1 has"));
  EXPECT_FALSE(answers_.contains(pull)) << "its 1000 ms begin anew";
  EXPECT_EQ(wake_at_, 2000);
}

TEST_F(ShardStorageTest, WhoAsksForCountsIsToldOfAFullDiskWithinTheTimeItWaits) {
  Open({});
  Push(0, {1});
  EXPECT_FALSE(busy_.contains(Stats(5000)));
  Handle(StoreBlocked{full_disk_}, 5500);
  EXPECT_EQ(busy_[Stats(5501)], "shard 0 waits: the disk is full") << "without a wait";
  Handle(StoreUnblocked{}, 5600);
  EXPECT_EQ(busy_[Stats(6599)], "shard 0 has waited: the disk is full");
  const uint64_t last = Stats(6600);
  EXPECT_FALSE(busy_.contains(last));
  CarryOutAll();
  EXPECT_EQ(answers_.at(last).header.type, MessageType::kStatsReply)
      << "step 0 was asked about, step 1 is next";
}

TEST_F(ShardStorageTest, ASweepWritesEveryChangedRowWithinItsSteps) {
  Open({.node = {.max_dirty_steps = 4}});
  std::map<uint64_t, uint64_t> changed_at;  // rows that are not written yet
  for (uint64_t step = 0; step < 20; ++step) {
    Push(step, {step % kRows, (step * 7) % kRows});
    changed_at.try_emplace(step % kRows, step);
    changed_at.try_emplace((step * 7) % kRows, step);
    while (!waiting_.empty()) {
      if (const auto* write = std::get_if<WriteRows>(&waiting_.front())) {
        for (const StoreWrite& one : write->writes) {
          EXPECT_TRUE(std::is_sorted(one.rows.begin(), one.rows.end()));
          for (const RowId row : one.rows) changed_at.erase(Raw(row));
        }
      }
      CarryOutOne();
    }
    for (const auto& [row, at] : changed_at) EXPECT_LT(step - at, 4u) << "row " << row;
  }
  EXPECT_GT(shard_->stats().rows_swept, 0u);
  EXPECT_EQ(shard_->stats().rows_swept, shard_->stats().rows_written);
}

TEST_F(ShardStorageTest, ARowThatWasNeverWrittenIsNotLookedUp) {
  Open({.node = {.cache_ratio = 0.25}});
  const uint64_t first = Pull(0, {5, 6, 7});
  EXPECT_TRUE(answers_.contains(first)) << "its first value is known without the store";
  EXPECT_FALSE(HasWaited(first));
  Push(0, {5});
  Flush(1);
  CarryOutAll();
  const uint64_t later = Pull(1, {40, 41});
  EXPECT_TRUE(waiting_.empty());
  EXPECT_TRUE(answers_.contains(later));
  // One that a run before this wrote is.
  shard_->NoteStored(TableId{0}, RowId{50}, 0);
  const uint64_t stored = Pull(1, {50});
  EXPECT_FALSE(answers_.contains(stored));
  CarryOutAll();
  EXPECT_TRUE(HasWaited(stored));
}

// Nor when it is changed, though there was no room for it in the cache.
TEST_F(ShardStorageTest, ARowThatWasNeverWrittenIsUpdatedWithoutTheStore) {
  Open({.node = {.cache_ratio = 0.25}});
  const uint64_t pull = Pull(0, AllRows());
  const std::vector<float> first = Pulled(pull);
  Push(0, AllRows());
  EXPECT_EQ(shard_->stats().rows_updated, kRows);
  EXPECT_EQ(shard_->next_step(), 1u) << "nothing is waited for";
  for (const ShardAction& action : waiting_) {
    EXPECT_FALSE(std::holds_alternative<ReadRows>(action));
  }
  CarryOutAll();
  // Those that are stored now are read to be changed again.
  Push(1, AllRows());
  ASSERT_TRUE(IsNext<ReadRows>());
  CarryOutAll();
  const uint64_t later = Pull(2, AllRows());
  CarryOutAll();
  const std::vector<float> changed = Pulled(later);
  for (size_t i = 0; i < kRows; ++i) EXPECT_EQ(changed[i], first[i] - 0.5f - 0.5f) << i;
}

// A cache that begins with the hottest rows looks up those that were written, and no others.
TEST_F(ShardStorageTest, RowsThatWereNeverWrittenAreNotReadToWarmACache) {
  AccessCounter counter("t", kRows);
  for (uint64_t row = 0; row < kRows; ++row) counter.Add(row, kRows - row);
  AccessCounts counts;
  counts.tables.push_back(counter.Finish());
  Open({.node = {.cache_ratio = 0.25}, .access_counts = std::make_shared<AccessCounts>(counts)});
  shard_->NoteStored(TableId{0}, RowId{2}, 0);
  shard_->NoteStored(TableId{0}, RowId{40}, 0);  // Not among the hottest.
  const uint64_t pull = Pull(0, {0, 1, 3});
  EXPECT_TRUE(answers_.contains(pull));
  EXPECT_EQ(shard_->stats().pulled.from_memory, 3u) << "they have their first values";
  ASSERT_EQ(waiting_.size(), 1u);
  const auto& read = std::get<ReadRows>(waiting_.front());
  ASSERT_EQ(read.reads.size(), 1u);
  EXPECT_EQ(read.reads[0].rows, std::vector<RowId>{RowId{2}});
}

}  // namespace
}  // namespace rowhouse
