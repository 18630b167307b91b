// A save in mid-run of one shard, action by action: what it writes, what it holds, and that it
// ends.
#include "ps/shard/saves.h"

#include <limits>

#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class SavesTest : public ShardRooms {
 protected:
  void OpenSaves(const ShardOptions& options, uint64_t rows = 64) {
    Open(options, rows);
    sweeper_ =
        std::make_unique<Sweeper>(*state_, Sweeper::Rooms{.tables = *tables_, .writer = *writer_});
    saves_ = std::make_unique<Saves>(
        *state_, Saves::Rooms{.tables = *tables_, .writer = *writer_, .sweeper = *sweeper_});
  }
  // As a step does with a row that is in its cache.
  void Update(RowId row, float weight) {
    const RowCache::Slot slot = slice().cache->Find(row);
    std::byte* const record = slice().cache->record(slot);
    writer_->marked().BeforeUpdate(slice(), row, slot, record);
    std::memcpy(record, &weight, sizeof weight);
    table().layout.set_trailer(record, {.lsn = state_->next_step + 1});
    slice().cache->set_dirty(slot);
  }
  void UpdateInStep(uint64_t row, float weight) {
    if (slice().cache->Find(RowId{row}) == RowCache::kNone) Cache(RowId{row}, 0.0f, false);
    Update(RowId{row}, weight);
  }
  void EndStep() {
    ++state_->next_step;
    saves_->Continue();
    Collect();
  }
  void Begin() {
    EXPECT_OK(saves_->Begin("step"));
    saves_->Continue();
    Collect();
  }
  // The actions since the last call; what was to be written to delta files goes to delta_.
  void Collect() {
    for (ShardAction& action : state_->out.TakeActions()) {
      if (auto* delta = std::get_if<WriteDelta>(&action)) {
        writes_.push_back(delta->ticket);
        for (const StoreWrite& write : delta->writes) {
          for (size_t i = 0; i < write.rows.size(); ++i) {
            float weight = 0;
            std::memcpy(&weight, write.records.data() + i * write.slice.record_bytes,
                        sizeof weight);
            EXPECT_TRUE(delta_.emplace(Raw(write.rows[i]), weight).second) << "twice";
          }
        }
      } else if (auto* cut = std::get_if<CutStore>(&action)) {
        cut_ = cut->ticket;
      } else if (auto* make = std::get_if<MakePart>(&action)) {
        make_ = std::move(*make);
      } else if (auto* write = std::get_if<WriteRows>(&action)) {
        stores_.push_back(std::move(*write));
      } else if (std::holds_alternative<DropPart>(action)) {
        is_dropped_ = true;
      }
    }
  }
  void EndWrites(const Status& status = OkStatus()) {
    while (!writes_.empty()) {
      const uint64_t ticket = writes_.front();
      writes_.erase(writes_.begin());
      saves_->OnDeltaWritten({.ticket = ticket, .status = status});
      saves_->Continue();
      Collect();
    }
  }
  void EndCut(const Status& status = OkStatus()) {
    saves_->OnCut({.ticket = cut_.value(), .status = status});
    cut_.reset();
    saves_->Continue();
    Collect();
  }
  void EndPart(uint64_t delta_bytes = 1) {
    saves_->OnPartMade({.ticket = make_->ticket, .status = {}, .delta_bytes = delta_bytes});
    make_.reset();
    delta_.clear();
  }
  // A whole save without steps beside it. Returns which delta files it needs.
  std::vector<uint64_t> Save(uint64_t delta_bytes = 1) {
    Begin();
    EndCut();
    EndWrites();
    const std::vector<uint64_t> deltas = make_.value().deltas;
    EndPart(delta_bytes);
    return deltas;
  }

  std::unique_ptr<Sweeper> sweeper_;
  std::unique_ptr<Saves> saves_;
  std::vector<uint64_t> writes_;
  std::map<uint64_t, float> delta_;
  std::optional<uint64_t> cut_;
  std::optional<MakePart> make_;
  std::vector<WriteRows> stores_;
  bool is_dropped_ = false;
};

TEST_F(SavesTest, RowsAreSavedAsTheyWereAtTheMark) {
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  UpdateInStep(4, 4.0f);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  EndStep();
  EXPECT_EQ(saves_->Report().changed_bytes, 2 * table().layout.bytes());
  EXPECT_OK(saves_->Begin("step-1"));
  UpdateInStep(4, 44.0f);
  UpdateInStep(5, 55.0f);
  EndStep();
  UpdateInStep(4, 444.0f);
  EndStep();
  EXPECT_TRUE(saves_->Report().is_under_way);
  EXPECT_EQ(delta_, (std::map<uint64_t, float>{{3, 3.0f}, {4, 4.0f}}));
  EndWrites();
  EXPECT_FALSE(make_) << "the store is not cut yet";
  EndCut();
  ASSERT_TRUE(make_);
  EXPECT_EQ(make_->steps, 1u);
  EXPECT_EQ(make_->deltas, std::vector<uint64_t>{1});
  EndPart();
  EXPECT_FALSE(saves_->Report().is_under_way);
  EXPECT_EQ(WeightOf(RowId{4}), 444.0f);
  EXPECT_EQ(slice().cache->DirtySlots().size(), 3u) << "the store has none of them";
}

TEST_F(SavesTest, WritesWaitUntilTheStoreIsCutAndReadsSeeThem) {
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  writer_->Flush();
  EndStep();
  Begin();
  EXPECT_FALSE(cut_) << "a write is under way";
  ASSERT_EQ(stores_.size(), 1u);
  UpdateInStep(3, 33.0f);
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  std::vector<std::byte> read;
  StoreRead rows = ReadOf(slice());
  rows.rows = {RowId{3}, RowId{7}};
  std::vector<StoreRead> reads;
  reads.push_back(rows);
  const uint64_t ticket = reader_->Read(std::move(reads), [&](std::vector<StoreRead> done) {
    read = done[0].records;
    EXPECT_EQ(done[0].missing, std::vector<size_t>{1});
  });
  writer_->OnRowsWritten({.ticket = stores_[0].ticket});
  saves_->Continue();
  Collect();
  ASSERT_TRUE(cut_);
  EXPECT_EQ(stores_.size(), 1u) << "the second one is held";
  EndCut();
  ASSERT_EQ(stores_.size(), 2u);
  rows.records.resize(2 * table().layout.bytes());
  rows.missing = {0, 1};
  RowsRead event{.ticket = ticket, .status = {}, .reads = {}};
  event.reads.push_back(rows);
  reader_->OnRowsRead(std::move(event));
  EXPECT_EQ(table().layout.weights(read.data())[0], 33.0f);
}

TEST_F(SavesTest, RowsThatLeaveTheCacheOrBecomeCleanAreCopied) {
  OpenSaves({.node = {.cache_ways = 1}, .cache_bytes = 2 * 20});
  ASSERT_EQ(slice().cache->capacity_rows(), 2u);
  UpdateInStep(3, 3.0f);
  UpdateInStep(4, 4.0f);
  EndStep();
  EXPECT_OK(saves_->Begin("step-1"));
  Cache(RowId{9}, 9.0f, /*is_dirty=*/false);  // It takes a slot.
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  saves_->Continue();
  Collect();
  EXPECT_EQ(delta_, (std::map<uint64_t, float>{{3, 3.0f}, {4, 4.0f}}));
}

TEST_F(SavesTest, EachSaveWritesWhatChangedAndNeedsTheFilesThatHaveDirtyRows) {
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  UpdateInStep(4, 4.0f);
  EndStep();
  EXPECT_EQ(Save(), std::vector<uint64_t>{1});
  UpdateInStep(4, 44.0f);
  EndStep();
  Begin();
  EXPECT_EQ(delta_, (std::map<uint64_t, float>{{4, 44.0f}}));
  EndCut();
  EndWrites();
  EXPECT_EQ(make_->deltas, (std::vector<uint64_t>{1, 2})) << "row 3 is in the first";
  EndPart();
  UpdateInStep(3, 33.0f);
  EndStep();
  EXPECT_EQ(Save(), (std::vector<uint64_t>{2, 3})) << "nothing of the first is needed";
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  writer_->Flush();
  Collect();
  writer_->OnRowsWritten({.ticket = stores_.at(0).ticket});
  EndStep();
  EXPECT_TRUE(Save().empty()) << "the store has all rows";
}

TEST_F(SavesTest, RowsAreWrittenAnewOnceTheFilesAreTwiceAsLargeAsTheRows) {
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  UpdateInStep(4, 4.0f);
  EndStep();
  Save(3 * table().layout.bytes());
  UpdateInStep(4, 44.0f);
  EndStep();
  Save(3 * table().layout.bytes());
  UpdateInStep(4, 444.0f);
  EndStep();
  Begin();
  EXPECT_EQ(delta_, (std::map<uint64_t, float>{{3, 3.0f}, {4, 444.0f}}));
  EndCut();
  EndWrites();
  EXPECT_EQ(make_->deltas, std::vector<uint64_t>{3});
}

TEST_F(SavesTest, AStepWaitsWhileItsCopiesHaveNoRoom) {
  OpenSaves({.max_unwritten_bytes = 100000}, 10000);
  for (uint64_t row = 0; row < 10000; ++row) UpdateInStep(row, 1.0f);
  EndStep();
  EXPECT_TRUE(saves_->HasRoomFor(uint64_t{1} << 30));
  Begin();
  EXPECT_FALSE(saves_->HasRoomFor(uint64_t{1} << 30));
  EXPECT_FALSE(saves_->HasRoomFor(60000)) << "writes of what the hand came to";
  EndWrites();
  EXPECT_TRUE(saves_->HasRoomFor(uint64_t{1} << 30)) << "no row is marked any more";
  EXPECT_EQ(delta_.size(), 10000u);
}

// What is on its way to delta files takes the place of writes of rows, and the reverse.
TEST_F(SavesTest, RowsLeaveTheCacheOnlyWhileCopiesLeaveRoom) {
  OpenSaves({.max_unwritten_bytes = 1}, 64);
  UpdateInStep(3, 3.0f);
  EndStep();
  EXPECT_TRUE(saves_->has_room());
  Begin();
  EXPECT_TRUE(writer_->has_room());
  EXPECT_FALSE(saves_->has_room());
  EndWrites();
  EXPECT_TRUE(saves_->has_room());
}

// It is the save's files that may take the room.
TEST_F(SavesTest, ASaveIsGivenUpWhoseCutWaitsForAWriteThatFindsNoRoom) {
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  writer_->Flush();
  UpdateInStep(4, 4.0f);
  EndStep();
  Begin();
  EndWrites();
  const auto blocked_at = [&](TimeMs now) {
    state_->now = now;
    saves_->Continue();
    Collect();
  };
  state_->blockage = {.blocked = {Blocked::kStore}, .last_at = 0, .why = "full"};
  blocked_at(5000);
  blocked_at(14000);
  state_->blockage.blocked.clear();
  blocked_at(16000);
  state_->blockage.blocked.insert(Blocked::kStore);
  blocked_at(17000);
  blocked_at(26999);
  EXPECT_FALSE(is_dropped_) << "it found room meanwhile";
  blocked_at(27000);
  EXPECT_TRUE(is_dropped_);
  EXPECT_EQ(saves_->Report().no_room, "full");
  EXPECT_FALSE(writer_->is_held());
}

TEST_F(SavesTest, ASaveWithoutRoomIsGivenUpAndTheNextOneHasItsRows) {
  const Status full(StatusCode::kResourceExhausted, "full");
  OpenSaves({});
  UpdateInStep(3, 3.0f);
  EndStep();
  Begin();
  EndWrites(full);
  EXPECT_FALSE(is_dropped_) << "the store is being cut";
  UpdateInStep(4, 4.0f);
  writer_->QueueDirty(slice(), 0, RowCache::kNone);
  writer_->Flush();
  EndCut();
  EXPECT_TRUE(is_dropped_);
  EXPECT_EQ(stores_.size(), 1u) << "what was held leaves";
  saves_->OnPartsDeleted({});
  EXPECT_EQ(saves_->Report().no_room, "full");
  EXPECT_FALSE(saves_->Report().is_under_way);
  EXPECT_FALSE(state_->has_failed());
  writer_->OnRowsWritten({.ticket = stores_[0].ticket});
  delta_.clear();
  UpdateInStep(3, 33.0f);
  EndStep();
  Begin();
  EXPECT_EQ(delta_, (std::map<uint64_t, float>{{3, 33.0f}}));
}

TEST_F(SavesTest, ANaNFailsTheShard) {
  OpenSaves({.name = "shard 0"});
  UpdateInStep(3, std::numeric_limits<float>::quiet_NaN());
  EndStep();
  Begin();
  EXPECT_TRUE(state_->has_failed());
  EXPECT_TRUE(delta_.empty());
}

}  // namespace
}  // namespace rowhouse
