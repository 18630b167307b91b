#include "ps/shard/controls.h"

#include "common/wire/codec.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class ControlsTest : public ShardRooms {
 protected:
  void OpenControls(const ShardOptions& options) {
    Open(options);
    sweeper_ =
        std::make_unique<Sweeper>(*state_, Sweeper::Rooms{.tables = *tables_, .writer = *writer_});
    controls_ = std::make_unique<Controls>(
        *state_, Controls::Rooms{.tables = *tables_, .writer = *writer_, .sweeper = *sweeper_});
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

TEST_F(ControlsTest, ACheckpointWritesDirtyRowsAndLeavesTheDirectoryOpen) {
  OpenControls({.first_step = 5});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  Cache(RowId{4}, 4.0f, /*is_dirty=*/true);
  const auto ask = [&](const CheckpointRequest& request) {
    EXPECT_OK(controls_->Park(Ask(MessageType::kCheckpoint, 5), request));
    controls_->Serve();
    return state_->out.TakeActions();
  };
  std::vector<ShardAction> actions = ask({.phase = CheckpointPhase::kReserve});
  ASSERT_EQ(actions.size(), 1u);
  auto checkpoint = std::get<CheckpointStore>(actions[0]);
  EXPECT_EQ(checkpoint.bytes, 2 * table().layout.bytes());
  controls_->OnCheckpointed({.ticket = checkpoint.ticket});
  EXPECT_EQ(AnswerOf<CheckpointReply>().no_room, "");

  actions = ask({.phase = CheckpointPhase::kMake, .name = "step-5"});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<WriteRows>(actions[0]).writes.at(0).rows.size(), 2u);
  EXPECT_TRUE(std::get<WriteRows>(actions[0]).gives_up);
  EXPECT_TRUE(controls_->is_saving());
  EXPECT_EQ(slice().cache->DirtySlots().size(), 2u) << "until they are written";
  writer_->OnRowsWritten({.ticket = std::get<WriteRows>(actions[0]).ticket});
  controls_->ContinueSave();
  EXPECT_TRUE(slice().cache->DirtySlots().empty());
  checkpoint = Take<CheckpointStore>().at(0);
  EXPECT_EQ(checkpoint.name, "step-5");
  EXPECT_EQ(checkpoint.steps, 5u);
  EXPECT_FALSE(controls_->is_saving());
  controls_->OnCheckpointed(
      {.ticket = checkpoint.ticket, .directory = "/part", .checksum = "c", .bytes = 7});
  const auto reply = AnswerOf<CheckpointReply>();
  EXPECT_EQ(reply.directory, "/part");
  EXPECT_EQ(reply.checksum, "c");
  EXPECT_EQ(reply.bytes, 7u);

  actions = ask({.phase = CheckpointPhase::kDelete, .name = "step-5", .deleted = {"step-4"}});
  ASSERT_EQ(actions.size(), 1u);
  checkpoint = std::get<CheckpointStore>(actions[0]);
  EXPECT_EQ(checkpoint.name, "step-5");
  EXPECT_EQ(checkpoint.deleted, std::vector<std::string>{"step-4"});
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

TEST_F(ControlsTest, RowsThatFindNoRoomForACheckpointStayDirty) {
  OpenControls({.max_unwritten_bytes = 1});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  Cache(RowId{4}, 4.0f, /*is_dirty=*/true);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/true);
  // Writes come one by one.
  const auto answer_write = [&](const Status& status) {
    EXPECT_TRUE(controls_->is_saving());
    writer_->OnRowsWritten({.ticket = Take<WriteRows>().at(0).ticket, .status = status});
    controls_->ContinueSave();
  };
  const auto begin = [&] {
    EXPECT_OK(controls_->Park(Ask(MessageType::kCheckpoint, 0), {.phase = CheckpointPhase::kMake}));
    controls_->Serve();
  };
  begin();
  answer_write(OkStatus());
  answer_write(Status(StatusCode::kResourceExhausted, "full"));
  EXPECT_EQ(AnswerOf<CheckpointReply>().no_room, "full");
  EXPECT_FALSE(controls_->is_saving());
  EXPECT_FALSE(state_->has_failed());
  EXPECT_EQ(slice().cache->DirtySlots().size(), 3u);
  begin();
  for (int row = 0; row < 2; ++row) answer_write(OkStatus());
  EXPECT_EQ(slice().cache->DirtySlots().size(), 3u);
  answer_write(OkStatus());
  EXPECT_TRUE(slice().cache->DirtySlots().empty());
  EXPECT_EQ(Take<CheckpointStore>().size(), 1u);
}

TEST_F(ControlsTest, ACheckpointWithoutRoomIsNoFailureAndOneThatBreaksIs) {
  OpenControls({});
  for (const bool breaks : {false, true}) {
    EXPECT_OK(controls_->Park(Ask(MessageType::kCheckpoint, 0), {.phase = CheckpointPhase::kMake}));
    controls_->Serve();
    StoreCheckpointed made{.ticket = Take<CheckpointStore>().at(0).ticket, .status = {}};
    made.status = breaks ? IoError("a disk broke")
                         : Status(StatusCode::kResourceExhausted, "the disk is full");
    controls_->OnCheckpointed(made);
    EXPECT_EQ(state_->has_failed(), breaks);
    if (!breaks) {
      EXPECT_EQ(AnswerOf<CheckpointReply>().no_room, "the disk is full");
    }
  }
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
