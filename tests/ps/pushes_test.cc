#include "ps/shard/pushes.h"

#include "common/wire/codec.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class PushesTest : public ShardRooms {
 protected:
  void OpenPushes(bool logs) {
    Open({.node = {.durability = logs ? "wal" : "none"}, .name = "shard 0", .workers = 2});
    pushes_ = std::make_unique<Pushes>(*state_, *tables_);
  }
  void Take(uint32_t worker, uint64_t step, uint32_t number = 0, uint32_t parts = 1) {
    PushPart part;
    part.tables = {{.table = 0, .rows = 1}};
    part.ids = FrameOf(std::vector<uint64_t>{3});
    part.gradients = FrameOf(std::vector<float>{1.0f});
    const Header header{
        .request_id = ++request_, .step = step, .part = number, .parts = parts, .sender = worker};
    pushes_->Take({.peer = "peer", .header = header}, std::move(part), /*is_applying=*/false);
  }
  // Types of the answers since the last call.
  std::vector<MessageType> Answers() {
    std::vector<MessageType> types;
    for (SendFrames& send : TakeSent()) {
      types.push_back(Unpack(std::move(send.frames)).value().header.type);
    }
    return types;
  }
  std::vector<SendFrames> TakeSent() { return ShardRooms::Take<SendFrames>(); }

  std::unique_ptr<Pushes> pushes_;
  uint64_t request_ = 0;
};

TEST_F(PushesTest, AStepIsCompleteWhenAllPartsOfAllWorkersAreHere) {
  OpenPushes(/*logs=*/false);
  Take(0, 0);
  Take(1, 0, 1, 2);
  EXPECT_FALSE(pushes_->IsNextComplete());
  EXPECT_EQ(pushes_->DescribeMissing(), "no push of it came from worker 1");
  Take(1, 1);
  EXPECT_FALSE(pushes_->IsNextComplete()) << "of the step after it";
  Take(1, 0, 0, 2);
  EXPECT_TRUE(pushes_->IsNextComplete());
  EXPECT_EQ(pushes_->OfNext().workers.size(), 2u);
  EXPECT_EQ(Answers(), std::vector<MessageType>(4, MessageType::kPushReply));
}

TEST_F(PushesTest, ARepeatedPartIsAnsweredAgainAndCountsOnce) {
  OpenPushes(/*logs=*/false);
  Take(0, 0);
  Take(0, 0);
  EXPECT_EQ(state_->counters.rows_pushed, 1u);
  EXPECT_EQ(Answers().size(), 2u);
  state_->next_step = 1;
  pushes_->Forget(0);
  Take(0, 0);
  EXPECT_EQ(Answers(), std::vector<MessageType>{MessageType::kPushReply}) << "of an applied step";
}

TEST_F(PushesTest, WhatABrokenWorkerPushesIsRefused) {
  OpenPushes(/*logs=*/false);
  Take(0, kMaxStepsAhead + 1);
  Take(0, 0, 0, 2);
  Take(0, 0, 1, 3);
  EXPECT_EQ(Answers(), (std::vector<MessageType>{MessageType::kError, MessageType::kPushReply,
                                                 MessageType::kError}));
}

TEST_F(PushesTest, APushOfMoreRowsThanLieHereIsRefused) {
  OpenPushes(/*logs=*/false);  // 64 rows
  for (uint32_t part = 0; part < 64; ++part) Take(0, 0, part, 1000);
  EXPECT_EQ(Answers(), std::vector<MessageType>(64, MessageType::kPushReply));
  const uint64_t used = state_->options.request_memory->used();
  Take(0, 0, 64, 1000);
  EXPECT_EQ(Answers(), std::vector<MessageType>{MessageType::kError});
  EXPECT_EQ(state_->options.request_memory->used(), used);
  Take(1, 0);
  EXPECT_EQ(Answers(), std::vector<MessageType>{MessageType::kPushReply});
}

TEST_F(PushesTest, PushesStayWithinTheMemoryOfTheNode) {
  Open({.name = "shard 0",
        .workers = 2,
        .request_memory = std::make_shared<RequestMemory>(2 * kRequestBytes)});
  pushes_ = std::make_unique<Pushes>(*state_, *tables_);
  Take(0, 0, 0, 2);
  Take(0, 0, 1, 2);
  EXPECT_EQ(Answers(), (std::vector<MessageType>{MessageType::kPushReply, MessageType::kError}));
  state_->next_step = 1;
  pushes_->Forget(0);
  EXPECT_EQ(state_->options.request_memory->used(), 0u);
  Take(0, 1);
  EXPECT_EQ(Answers(), std::vector<MessageType>{MessageType::kPushReply});
}

TEST_F(PushesTest, WithALogAPartIsAnsweredAndCountsWhenTheLogHasIt) {
  OpenPushes(/*logs=*/true);
  Take(0, 0);
  Take(1, 0);
  Take(0, 0);  // Sent again while it is on its way.
  std::vector<AppendLog> appends;
  for (ShardAction& action : state_->out.TakeActions()) {
    ASSERT_TRUE(std::holds_alternative<AppendLog>(action)) << "nothing is answered";
    appends.push_back(std::move(std::get<AppendLog>(action)));
  }
  ASSERT_EQ(appends.size(), 2u);
  EXPECT_EQ(appends[0].push->lsn, 1u);
  EXPECT_FALSE(pushes_->IsNextComplete());
  pushes_->OnLogAppended({.ticket = appends[0].ticket, .log_bytes = 50});
  EXPECT_EQ(Answers().size(), 2u) << "both who sent it";
  pushes_->OnLogAppended({.ticket = appends[1].ticket, .log_bytes = 100});
  EXPECT_TRUE(pushes_->IsNextComplete());
  EXPECT_EQ(state_->counters.log_bytes, 100u);
}

TEST_F(PushesTest, AWorkerMustNotPullOtherBagsThanItHasPushed) {
  OpenPushes(/*logs=*/false);
  PulledBags bags{.part = {.list = 1, .bags = 1, .lookups = 1}, .rows = {RowId{3}}, .slots = {0}};
  bags.offsets = {0, 1};
  EXPECT_OK(pushes_->NotePulled({.sender = 0}, {bags}));
  PulledBags others = bags;
  others.rows = {RowId{4}};
  EXPECT_OK(pushes_->NotePulled({.sender = 0}, {others})) << "nothing was pushed yet";
  Take(0, 0);
  EXPECT_OK(pushes_->NotePulled({.sender = 0}, {others}));
  EXPECT_THAT(pushes_->NotePulled({.sender = 0}, {bags}).message(), HasSubstr("other bags"));
}

}  // namespace
}  // namespace rowhouse
