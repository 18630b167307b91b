#include "ps/shard/cache_admission.h"

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using CacheAdmissionTest = ShardRooms;

TEST_F(CacheAdmissionTest, ADirtyVictimIsWrittenAndACleanOneIsNot) {
  Open({.node = {.cache_ratio = 1.0 / 64, .cache_ways = 1}});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/true);
  state_->next_step = 1;
  Cache(RowId{4}, 4.0f, /*is_dirty=*/false);
  state_->next_step = 2;
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  writer_->Flush();
  EXPECT_EQ(Take<WriteRows>().at(0).writes.at(0).rows, std::vector<RowId>{RowId{3}});
  EXPECT_EQ(state_->counters.rows_evicted, 2u);
}

TEST_F(CacheAdmissionTest, ARowFindsNoSlotAmongPinnedOnes) {
  Open({.node = {.cache_ratio = 1.0 / 64, .cache_ways = 1}});
  const std::vector<std::byte> record(table().layout.bytes());
  EXPECT_TRUE(admission_->Admit(slice(), RowId{3}, record.data(), {.is_pinned = true}));
  EXPECT_FALSE(admission_->Admit(slice(), RowId{4}, record.data(), {}));
  EXPECT_EQ(state_->counters.rows_overflowed, 1u);
  state_->next_step = 1;
  EXPECT_TRUE(admission_->Admit(slice(), RowId{4}, record.data(), {})) << "its step was applied";
}

}  // namespace
}  // namespace rowhouse
