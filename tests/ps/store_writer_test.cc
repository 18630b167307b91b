#include "ps/shard/store_writer.h"

#include <limits>

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using StoreWriterTest = ShardRooms;

TEST_F(StoreWriterTest, WhatIsQueuedLeavesTogetherAndInOrder) {
  Open({});
  Cache(RowId{7}, 7.0f, /*is_dirty=*/true);
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  writer_->QueueDirty(slice(), 0, slice().cache->capacity_rows());
  EXPECT_TRUE(Take<WriteRows>().empty()) << "not before Flush";
  writer_->Flush();
  writer_->Flush();
  const std::vector<WriteRows> writes = Take<WriteRows>();
  ASSERT_EQ(writes.size(), 1u);
  ASSERT_EQ(writes[0].writes.size(), 1u);
  EXPECT_EQ(writes[0].writes[0].rows, (std::vector<RowId>{RowId{3}, RowId{7}}));
  EXPECT_EQ(state_->counters.rows_written, 2u);
  EXPECT_TRUE(slice().cache->DirtySlots().empty());
  EXPECT_TRUE(slice().MayBeStored(3));
  EXPECT_FALSE(slice().MayBeStored(5));
}

TEST_F(StoreWriterTest, HasRoomAgainWhenTheWriteHasEnded) {
  Open({.max_unwritten_bytes = 1});
  EXPECT_TRUE(writer_->has_room());
  EXPECT_EQ(writer_->SlotsOfPiece(slice()), 1u) << "never none";
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  writer_->QueueDirty(slice(), 0, slice().cache->capacity_rows());
  writer_->Flush();
  EXPECT_FALSE(writer_->has_room());
  writer_->OnRowsWritten({.ticket = Take<WriteRows>().at(0).ticket});
  EXPECT_TRUE(writer_->has_room());
  EXPECT_OK(state_->failure);
}

TEST_F(StoreWriterTest, ANaNFailsTheShardAndDoesNotReachTheStore) {
  Open({.name = "shard 0"});
  Cache(RowId{3}, std::numeric_limits<float>::quiet_NaN(), /*is_dirty=*/true);
  writer_->QueueDirty(slice(), 0, slice().cache->capacity_rows());
  EXPECT_TRUE(state_->has_failed());
  EXPECT_THAT(state_->failure.message(), testing::HasSubstr("shard 0"));
  EXPECT_EQ(state_->counters.rows_written, 0u);
}

TEST_F(StoreWriterTest, AFailedWriteFailsTheShard) {
  Open({});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  writer_->QueueDirty(slice(), 0, slice().cache->capacity_rows());
  writer_->Flush();
  writer_->OnRowsWritten(
      {.ticket = Take<WriteRows>().at(0).ticket, .status = Status(StatusCode::kInternal, "torn")});
  EXPECT_TRUE(state_->has_failed());
}

TEST_F(StoreWriterTest, RecentWritesAreNewerThanReadsAskedForBeforeThem) {
  Open({});
  RecentWrites& recent = writer_->recent();
  recent.Note(slice(), RowId{1}, 4);
  EXPECT_EQ(recent.size(), 0u) << "nobody asks";
  recent.Start();
  recent.Note(slice(), RowId{1}, 5);
  recent.Note(slice(), RowId{2}, 8);
  EXPECT_TRUE(recent.IsNewer(slice(), RowId{1}, 4));
  EXPECT_FALSE(recent.IsNewer(slice(), RowId{1}, 5)) << "queued before the read";
  EXPECT_FALSE(recent.IsNewer(slice(), RowId{3}, 1));
  recent.ForgetBefore(6);
  EXPECT_EQ(recent.size(), 1u);
  recent.Stop();
  EXPECT_EQ(recent.size(), 0u);
}

}  // namespace
}  // namespace rowhouse
