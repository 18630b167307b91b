#include "ps/shard/prefetches.h"

#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

class PrefetchesTest : public ShardRooms {
 protected:
  void OpenPrefetches(const ShardOptions& options) {
    Open(options);
    prefetches_ = std::make_unique<Prefetches>(
        *state_,
        Prefetches::Rooms{
            .tables = *tables_, .reader = *reader_, .writer = *writer_, .admission = *admission_});
  }
  void Start(uint64_t step, const std::vector<uint64_t>& rows) {
    prefetches_->Start({.step = step,
                        .tables = {{.table = 0, .rows = static_cast<uint32_t>(rows.size())}},
                        .ids = FrameOf(rows)});
  }
  // Ends the only read that was asked for since; all its rows hold this weight.
  void EndRead(float weight) {
    ReadRows read = std::move(Take<ReadRows>().at(0));
    for (StoreRead& one : read.reads) {
      for (size_t i = 0; i < one.rows.size(); ++i) {
        std::memcpy(one.records.data() + i * one.slice.record_bytes, &weight, sizeof(weight));
      }
    }
    reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  }

  std::unique_ptr<Prefetches> prefetches_;
};

TEST_F(PrefetchesTest, OnlyRowsThatMayBeStoredAreRead) {
  OpenPrefetches({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Start(2, {3, 5});
  EXPECT_TRUE(prefetches_->IsComing(slice(), RowId{3}));
  EXPECT_FALSE(prefetches_->IsComing(slice(), RowId{5}));
  EndRead(8.0f);
  EXPECT_FALSE(prefetches_->IsComing(slice(), RowId{3}));
  EXPECT_EQ(WeightOf(RowId{3}), 8.0f);
  EXPECT_EQ(state_->counters.rows_announced, 2u);
  EXPECT_EQ(state_->counters.rows_prefetched, 1u);
}

TEST_F(PrefetchesTest, ARowThatIsComingIsReadOnce) {
  OpenPrefetches({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Start(2, {3});
  EXPECT_EQ(Take<ReadRows>().size(), 1u);
  Start(3, {3});
  EXPECT_TRUE(Take<ReadRows>().empty());
}

TEST_F(PrefetchesTest, ARowThatWasWrittenMeanwhileIsNotTaken) {
  OpenPrefetches({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Start(2, {3});
  std::vector<std::byte> record(table().layout.bytes());
  writer_->Queue(slice(), RowId{3}, record.data());
  EndRead(8.0f);
  EXPECT_EQ(slice().cache->Find(RowId{3}), RowCache::kNone) << "what was read is old";
}

TEST_F(PrefetchesTest, BeyondTheLimitRowsAreNotPrefetched) {
  OpenPrefetches({.max_prefetch_bytes = 2 * (4 + 16)});
  for (const uint64_t row : {3, 4, 5}) tables_->NoteStored(TableId{0}, RowId{row}, 0);
  Start(2, {3, 4, 5});
  EXPECT_EQ(Take<ReadRows>().at(0).reads.at(0).rows.size(), 2u);
}

TEST_F(PrefetchesTest, NothingIsPrefetchedForAppliedStepsOrWhileTheDiskIsFull) {
  OpenPrefetches({.first_step = 5});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Start(4, {3});
  state_->blockage.blocked = {Blocked::kStore};
  Start(6, {3});
  EXPECT_TRUE(Take<ReadRows>().empty());
}

// The cache has one slot. It is kept for the step that was noted, and then for the one after.
TEST_F(PrefetchesTest, AUseAfterTheNextOneIsNotedOnceThatStepIsApplied) {
  OpenPrefetches({.node = {.cache_ratio = 1.0 / 64, .cache_ways = 1}});
  Cache(RowId{3}, 1.0f, /*is_dirty=*/false);
  Start(1, {3});
  Start(2, {3});
  state_->next_step = 1;
  prefetches_->OnStepApplied();
  slice().cache->Pin(slice().cache->Find(RowId{3}), 1);
  state_->next_step = 2;
  prefetches_->OnStepApplied();
  EXPECT_EQ(admission_->Claim(slice(), RowId{4}), RowCache::kNone) << "pinned for step 2";
  state_->next_step = 3;
  prefetches_->OnStepApplied();
  EXPECT_NE(admission_->Claim(slice(), RowId{4}), RowCache::kNone);
}

}  // namespace
}  // namespace rowhouse
