#include "ps/shard/controls.h"

#include "common/wire/codec.h"
#include "ps/store/checkpoint_part.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class ControlsTest : public ShardRooms {
 protected:
  void OpenControls(const ShardOptions& options) {
    Open(options);
    sweeper_ =
        std::make_unique<Sweeper>(*state_, Sweeper::Rooms{.tables = *tables_, .writer = *writer_});
    saves_ = std::make_unique<Saves>(
        *state_, Saves::Rooms{.tables = *tables_, .writer = *writer_, .sweeper = *sweeper_});
    controls_ = std::make_unique<Controls>(
        *state_,
        Controls::Rooms{
            .tables = *tables_, .writer = *writer_, .sweeper = *sweeper_, .saves = *saves_});
  }
  static Request Ask(MessageType type, uint64_t step) {
    Request request{.peer = "peer", .header = {.request_id = 5, .step = step}};
    request.header.type = type;
    request.header.deadline_ms = 1000;
    return request;
  }
  template <typename Reply>
  Reply AnswerOf() {
    return DecodeBody<Reply>(Unpack(std::move(Take<SendFrames>().at(0).frames)).value()).value();
  }

  std::unique_ptr<Sweeper> sweeper_;
  std::unique_ptr<Saves> saves_;
  std::unique_ptr<Controls> controls_;
};

TEST_F(ControlsTest, ASaveWritesAllDirtyRowsAndThenSyncs) {
  OpenControls({});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  Cache(RowId{4}, 4.0f, /*is_dirty=*/false);
  EXPECT_OK(controls_->Park(Ask(MessageType::kFlush, 0)));
  controls_->Serve();
  EXPECT_FALSE(controls_->is_saving());
  std::vector<ShardAction> actions = state_->out.TakeActions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<WriteRows>(actions[0]).writes.at(0).rows, std::vector<RowId>{RowId{3}});
  const auto& sync = std::get<SyncStore>(actions[1]);
  EXPECT_TRUE(sync.is_clean);
  controls_->OnSynced({.ticket = sync.ticket, .status = {}, .stamp = "which"});
  const FlushReply reply = AnswerOf<FlushReply>();
  EXPECT_EQ(reply.code, 0);
  EXPECT_EQ(reply.stamp, "which");
}

TEST_F(ControlsTest, ASaveGoesOnWhenTheWriterHasRoom) {
  OpenControls({.max_unwritten_bytes = 1});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  Cache(RowId{4}, 4.0f, /*is_dirty=*/true);
  EXPECT_OK(controls_->Park(Ask(MessageType::kFlush, 0)));
  controls_->Serve();
  EXPECT_TRUE(controls_->is_saving());
  for (int row = 0; row < 2; ++row) {
    writer_->OnRowsWritten({.ticket = Take<WriteRows>().at(0).ticket});
    controls_->ContinueSave();
  }
  EXPECT_FALSE(controls_->is_saving());
  EXPECT_EQ(Take<SyncStore>().size(), 1u);
}

TEST_F(ControlsTest, WaitsForItsStepAndIsRefusedAfterIt) {
  OpenControls({.first_step = 5});
  EXPECT_OK(controls_->Park(Ask(MessageType::kFlush, 6)));
  controls_->Serve();
  EXPECT_TRUE(state_->out.TakeActions().empty());
  EXPECT_EQ(controls_->parked().size(), 1u);
  state_->next_step = 7;
  controls_->Serve();
  EXPECT_EQ(AnswerOf<ErrorReply>().code, static_cast<uint8_t>(StatusCode::kInternal));
}

TEST_F(ControlsTest, AMarkWaitsForItsStepAndQuestionsAreAnsweredAtOnce) {
  OpenControls({.first_step = 5});
  const auto ask = [&](CheckpointPhase phase, uint64_t step) {
    EXPECT_OK(controls_->Checkpoint(Ask(MessageType::kCheckpoint, step),
                                    {.phase = phase, .name = CheckpointName(step)}));
    controls_->Serve();
  };
  ask(CheckpointPhase::kMark, 6);
  EXPECT_TRUE(Take<SendFrames>().empty());
  ask(CheckpointPhase::kAsk, 6);
  EXPECT_FALSE(AnswerOf<CheckpointReply>().is_under_way);
  state_->next_step = 6;
  controls_->Serve();
  EXPECT_TRUE(AnswerOf<CheckpointReply>().is_under_way);
  ask(CheckpointPhase::kMark, 6);
  EXPECT_EQ(AnswerOf<ErrorReply>().code, static_cast<uint8_t>(StatusCode::kInternal)) << "a second";
  EXPECT_OK(controls_->Park(Ask(MessageType::kFlush, 6)));
  controls_->Serve();
  EXPECT_FALSE(controls_->is_saving()) << "it waits until the checkpoint is made";
  EXPECT_EQ(controls_->parked().size(), 1u);
}

TEST_F(ControlsTest, AWorkerThatAsksAgainAndAgainIsRefusedAndOthersAreNot) {
  OpenControls({.name = "shard 0"});
  Status status;
  int taken = 0;
  while (status.ok() && taken < 1000) {
    status = controls_->Park({.peer = "peer", .header = {.type = MessageType::kFlush, .step = 1}});
    taken += status.ok() ? 1 : 0;
  }
  EXPECT_EQ(taken, 16);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_OK(controls_->Park(
      {.peer = "other", .header = {.type = MessageType::kFlush, .step = 1, .sender = 1}}));
}

TEST_F(ControlsTest, CountersAreThoseOfTheShardAndOfItsStore) {
  OpenControls({});
  state_->counters.rows_updated = 7;
  table().rows_pushed = 9;
  EXPECT_OK(controls_->Park(Ask(MessageType::kStats, 0)));
  controls_->Serve();
  StoreCounted counted{.ticket = Take<CountStore>().at(0).ticket, .process_peak_bytes = 4};
  counted.counters.rows_read = 3;
  controls_->OnCounted(counted);
  const auto reply = AnswerOf<StatsReply>();
  EXPECT_EQ(reply.rows_updated, 7u);
  EXPECT_EQ(reply.store_rows_read, 3u);
  EXPECT_EQ(reply.process_peak_bytes, 4u);
  ASSERT_EQ(reply.tables.size(), 1u);
  EXPECT_EQ(reply.tables[0].rows_pushed, 9u);
}

TEST_F(ControlsTest, WhoAsksForCountersOfABlockedShardIsToldAtOnce) {
  OpenControls({.name = "shard 0"});
  state_->blockage = {.blocked = {Blocked::kStore}, .last_at = 0, .why = "the disk is full"};
  EXPECT_OK(controls_->Park(Ask(MessageType::kStats, 0)));
  EXPECT_EQ(AnswerOf<BusyReply>().message, "shard 0 waits: the disk is full");
  state_->blockage.blocked.clear();
  state_->now = 999;
  EXPECT_OK(controls_->Park(Ask(MessageType::kStats, 0)));
  EXPECT_EQ(AnswerOf<BusyReply>().message, "shard 0 has waited: the disk is full");
  state_->now = 1000;
  EXPECT_OK(controls_->Park(Ask(MessageType::kStats, 0)));
  EXPECT_TRUE(Take<SendFrames>().empty());
}

}  // namespace
}  // namespace rowhouse
