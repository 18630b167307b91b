#include "ps/shard/sweeper.h"

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class SweeperTest : public ShardRooms {
 protected:
  void OpenSweeper(const ShardOptions& options) {
    Open(options);
    sweeper_ =
        std::make_unique<Sweeper>(*state_, Sweeper::Rooms{.tables = *tables_, .writer = *writer_});
  }
  void ApplyStep() {
    ++state_->next_step;
    sweeper_->OnStepApplied();
  }

  std::unique_ptr<Sweeper> sweeper_;
};

TEST_F(SweeperTest, EveryDirtyRowIsWrittenInOneLap) {
  OpenSweeper({.node = {.max_dirty_steps = 4}});
  for (uint64_t row = 0; row < 64; ++row) Cache(RowId{row}, 1.0f, /*is_dirty=*/true);
  for (int step = 1; step <= 4; ++step) {
    ApplyStep();
    EXPECT_EQ(state_->counters.rows_swept, 16u * step);
  }
  EXPECT_TRUE(slice().cache->DirtySlots().empty());
  EXPECT_EQ(state_->lap_began, 4u);
  EXPECT_TRUE(Take<SyncStore>().empty()) << "nobody needs it without a log";
}

TEST_F(SweeperTest, NothingIsSweptWithoutALimit) {
  OpenSweeper({});
  EXPECT_FALSE(sweeper_->is_on());
  Cache(RowId{3}, 1.0f, /*is_dirty=*/true);
  ApplyStep();
  EXPECT_EQ(state_->counters.rows_swept, 0u);
}

TEST_F(SweeperTest, WithALogALapEndsInASyncAndThenTheLogIsTruncated) {
  OpenSweeper({.node = {.max_dirty_steps = 2, .durability = "wal"}});
  ApplyStep();
  ApplyStep();
  const std::vector<SyncStore> syncs = Take<SyncStore>();
  ASSERT_EQ(syncs.size(), 1u);
  EXPECT_FALSE(syncs[0].is_clean) << "rows are dirty that were pushed meanwhile";
  ApplyStep();
  ApplyStep();
  EXPECT_TRUE(Take<SyncStore>().empty()) << "one at a time";
  sweeper_->OnSynced(syncs[0].ticket);
  EXPECT_EQ(Take<TruncateLog>().at(0).low_water, 0u) << "where the lap began";
  ApplyStep();
  EXPECT_EQ(Take<SyncStore>().size(), 1u);
}

TEST_F(SweeperTest, ALapEndsEarlyWhenTheLogHasGrown) {
  OpenSweeper({.node = {.max_dirty_steps = 100, .durability = "wal"}, .max_lap_log_bytes = 1000});
  ApplyStep();
  EXPECT_EQ(state_->lap_began, 0u);
  state_->counters.log_bytes = 1000;
  ApplyStep();
  EXPECT_EQ(state_->lap_began, 2u);
}

}  // namespace
}  // namespace rowhouse
