#include "ps/shard/store_reader.h"

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using StoreReaderTest = ShardRooms;

TEST_F(StoreReaderTest, AReadFollowsTheWritesThatWereQueued) {
  Open({});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  writer_->QueueDirty(slice(), 0, slice().cache->capacity_rows());
  StoreRead read = ReadOf(slice());
  read.rows = {RowId{3}};
  reader_->Read({read}, [](std::vector<StoreRead>) {});
  const std::vector<ShardAction> actions = state_->out.TakeActions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<WriteRows>(actions[0]));
  const auto& reads = std::get<ReadRows>(actions[1]).reads;
  EXPECT_EQ(reads[0].records.size(), table().layout.bytes()) << "room for the record";
}

TEST_F(StoreReaderTest, GoesOnWithTheReadThatEnded) {
  Open({});
  std::vector<int> ended;
  const uint64_t first = reader_->Read({}, [&](std::vector<StoreRead>) { ended.push_back(1); });
  const uint64_t second = reader_->Read({}, [&](std::vector<StoreRead>) { ended.push_back(2); });
  EXPECT_LT(first, second);
  reader_->OnRowsRead({.ticket = second});
  reader_->OnRowsRead({.ticket = first});
  EXPECT_EQ(ended, (std::vector<int>{2, 1}));
}

TEST_F(StoreReaderTest, DoesNotGoOnOnceTheShardHasFailed) {
  Open({});
  bool went_on = false;
  const auto go_on = [&](std::vector<StoreRead>) { went_on = true; };
  const uint64_t first = reader_->Read({}, go_on), second = reader_->Read({}, go_on);
  reader_->OnRowsRead({.ticket = first, .status = Status(StatusCode::kInternal, "unreadable")});
  EXPECT_TRUE(state_->has_failed());
  reader_->OnRowsRead({.ticket = second});
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace rowhouse
