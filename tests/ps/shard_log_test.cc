// A shard that logs pushes before it answers them: what waits for the log, and what the log
// forgets.
#include <algorithm>
#include <array>

#include "ps/shard/shard_runner.h"
#include "tests/testing/push_log_reader.h"
#include "tests/testing/shard_with_store.h"

namespace rowhouse {
namespace {

class ShardLogTest : public ShardWithStore {
 protected:
  void OpenWithLog(uint64_t max_dirty_steps = 0, double cache_ratio = 1.0) {
    Open(
        {.node = {
             .cache_ratio = cache_ratio, .max_dirty_steps = max_dirty_steps, .durability = "wal"}});
    log_ = PushLog::Open({.directory = dir_ / "log"}).value();
  }
  void CarryOutLog() {
    while (!log_actions_.empty()) {
      const ShardAction action = std::move(log_actions_.front());
      log_actions_.pop_front();
      for (ShardEvent& event : CarryOutLogActions(*log_, std::span(&action, 1))) {
        Handle(std::move(event));
      }
    }
  }
  // As StoreAllRows, without their first values.
  void StoreAllRowsWithLog() {
    Push(0, AllRows());
    CarryOutLog();
    Flush(1);
    CarryOutAll();
    CarryOutLog();
  }
  std::vector<uint64_t> LsnsInLog() {
    std::vector<uint64_t> lsns;
    EXPECT_OK(ReadPushLog(dir_ / "log", [&](const LoggedPush& push) {
      lsns.push_back(push.lsn);
      return OkStatus();
    }));
    return lsns;
  }

  TempDir dir_;
  std::unique_ptr<PushLog> log_;
};

TEST_F(ShardLogTest, APushIsAnsweredAndAppliedWhenTheLogHasIt) {
  OpenWithLog();
  const uint64_t push = Push(0, {5});
  EXPECT_FALSE(answers_.contains(push));
  EXPECT_EQ(shard_->next_step(), 0u);
  CarryOutLog();
  EXPECT_EQ(answers_.at(push).header.type, MessageType::kPushReply);
  CarryOutAll();
  EXPECT_EQ(shard_->next_step(), 1u);
  ASSERT_EQ(LsnsInLog(), (std::vector<uint64_t>{1}));
  EXPECT_OK(ReadPushLog(dir_ / "log", [&](const LoggedPush& logged) {
    EXPECT_EQ(logged.sequence, push);
    EXPECT_EQ(logged.learning_rate, 0.5f);
    EXPECT_EQ(logged.frames.size(), 4u);
    EXPECT_EQ(logged.frames[1].size(), sizeof(uint64_t));
    EXPECT_EQ(logged.frames[2].size(), sizeof(float));
    return OkStatus();
  }));
  EXPECT_GT(shard_->stats().log_bytes, 0u);
}

TEST_F(ShardLogTest, IsBlockedWhileItsStoreOrItsLogIs) {
  OpenWithLog(/*max_dirty_steps=*/0, /*cache_ratio=*/0.1);
  StoreAllRowsWithLog();
  // Rows are prefetched unless the shard is blocked.
  const auto reads_ahead = [&](uint64_t row) {
    Prefetch(shard_->next_step() + 1, {row});
    const bool is_read = IsNext<ReadRows>();
    CarryOutAll();
    return is_read;
  };
  EXPECT_TRUE(reads_ahead(20));
  Handle(StoreBlocked{full_disk_, Blocked::kStore});
  Handle(StoreBlocked{full_disk_, Blocked::kLog});
  Handle(StoreUnblocked{Blocked::kStore});
  EXPECT_FALSE(reads_ahead(21)) << "the log still waits";
  Handle(StoreBlocked{full_disk_, Blocked::kStore});
  Handle(StoreUnblocked{Blocked::kLog});
  EXPECT_FALSE(reads_ahead(21)) << "the store does";
  Handle(StoreUnblocked{Blocked::kStore});
  EXPECT_TRUE(reads_ahead(21));
}

TEST_F(ShardLogTest, APushThatComesTwiceIsAnsweredTwiceAndNotBeforeTheLogHasIt) {
  OpenWithLog();
  const uint64_t first = Push(0, {5});
  const uint64_t second = Push(0, {5});
  EXPECT_EQ(log_actions_.size(), 1u) << "it is logged once";
  EXPECT_FALSE(answers_.contains(first));
  EXPECT_FALSE(answers_.contains(second)) << "the log does not have it";
  Handle(StoreBlocked{full_disk_, Blocked::kLog});
  EXPECT_TRUE(busy_.contains(first));
  EXPECT_TRUE(busy_.contains(second));
  CarryOutLog();
  EXPECT_EQ(answers_.at(first).header.type, MessageType::kPushReply);
  EXPECT_EQ(answers_.at(second).header.type, MessageType::kPushReply);
  CarryOutAll();
  EXPECT_EQ(shard_->next_step(), 1u);
}

// Of two parts one is in the log.
TEST_F(ShardLogTest, APartThatIsInTheLogIsAnsweredAtOnce) {
  OpenWithLog();
  const uint64_t first = PushPart(0, {5}, 0, 2);
  CarryOutLog();
  EXPECT_TRUE(answers_.contains(first));
  EXPECT_TRUE(answers_.contains(PushPart(0, {5}, 0, 2)));
  EXPECT_TRUE(log_actions_.empty());
  EXPECT_FALSE(answers_.contains(PushPart(0, {6}, 1, 2)));
}

TEST_F(ShardLogTest, ALogThatFailsEndsTheTraining) {
  OpenWithLog();
  const uint64_t push = Push(0, {5});
  const auto ticket = std::get<AppendLog>(log_actions_.front()).ticket;
  Handle(LogAppended{
      .ticket = ticket, .status = Status(StatusCode::kIoError, "no log"), .log_bytes = 0});
  EXPECT_EQ(answers_.at(push).header.type, MessageType::kError);
  EXPECT_EQ(answers_.at(Pull(0, {5})).header.type, MessageType::kError);
}

// The log keeps what the store does not have: after a lap of the sweeper and a sync, no more than
// the steps since the lap began.
TEST_F(ShardLogTest, ASweepLetsTheLogForget) {
  OpenWithLog(/*max_dirty_steps=*/4);
  for (uint64_t step = 0; step < 9; ++step) {
    Push(step, {step});
    CarryOutLog();
    CarryOutAll();
    CarryOutLog();
  }
  // Laps end after steps 4 and 8; the second has written what was changed before step 4.
  const std::vector<uint64_t> lsns = LsnsInLog();
  ASSERT_FALSE(lsns.empty());
  EXPECT_GE(lsns.front(), 1u);
  EXPECT_EQ(lsns.back(), 9u);
  Flush(9);
  CarryOutAll();
  CarryOutLog();
  EXPECT_TRUE(LsnsInLog().empty()) << "all is saved";
}

// Pushes of a lap are a segment of their own, and one sync is under way at most: however slow the
// store is, the log holds two laps and what is pushed meanwhile.
TEST_F(ShardLogTest, TheLogHoldsTwoLapsAndWhatIsPushedWhileTheSecondIsSynced) {
  constexpr uint64_t kLap = 4;
  for (const uint64_t store_steps : {1, 3, 10}) {  // between two looks of the store
    SCOPED_TRACE(store_steps);
    waiting_.clear();
    log_actions_.clear();
    OpenWithLog(kLap);
    const uint64_t lap = std::max(kLap, store_steps + store_steps % kLap);
    size_t most = 0;
    for (uint64_t step = 0; step < 60; ++step) {
      Push(step, AllRows());
      CarryOutLog();
      if (step == 0) CarryOutAll();  // From now on all rows are in the cache.
      ASSERT_EQ(shard_->next_step(), step + 1);
      if (step % store_steps == 0) CarryOutAll();
      const auto is_sync = [](const ShardAction& action) {
        return std::holds_alternative<SyncStore>(action);
      };
      EXPECT_LE(std::count_if(waiting_.begin(), waiting_.end(), is_sync), 1);
      most = std::max(most, LsnsInLog().size());
      CarryOutLog();
    }
    EXPECT_LE(most, 3 * lap);
    EXPECT_GE(most, 2 * kLap);
  }
}

TEST_F(ShardLogTest, PushesOfOneLapShareASync) {
  OpenWithLog();
  const auto push = std::make_shared<const LoggedPush>(LoggedPush{.lsn = 1});
  const std::array<ShardAction, 4> actions = {AppendLog{.ticket = 1, .push = push, .lap = 0},
                                              AppendLog{.ticket = 2, .push = push, .lap = 0},
                                              AppendLog{.ticket = 3, .push = push, .lap = 7},
                                              TruncateLog{.low_water = 1}};
  EXPECT_EQ(CarryOutLogActions(*log_, actions).size(), 2u);
  EXPECT_EQ(log_->segments(), 1u);
  EXPECT_EQ(CarryOutLogActions(*log_, std::span<const ShardAction>(actions).subspan(2)).size(), 1u);
  EXPECT_EQ(log_->segments(), 2u);
}

}  // namespace
}  // namespace rowhouse
