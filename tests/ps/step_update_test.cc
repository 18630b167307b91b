#include "ps/shard/step_update.h"

#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

TEST(TableTouches, AreByRowAndThenByWorker) {
  const float gradients[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  TableTouches touches;
  touches.Add({RowId{9}, 0, 0, &gradients[0]});
  touches.Add({RowId{2}, 1, 0, &gradients[1]});
  touches.Add({RowId{9}, 2, 0, &gradients[2]});
  touches.Add({RowId{2}, 0, 0, &gradients[3]});
  touches.Finish();
  ASSERT_EQ(touches.rows().size(), 2u);
  EXPECT_EQ(touches.rows()[0], RowId{2});
  ASSERT_EQ(touches.Of(0).size(), 2u);
  EXPECT_EQ(touches.Of(0)[0].worker, 0u);
  EXPECT_EQ(touches.Of(0)[1].gradient, &gradients[1]);
  EXPECT_EQ(touches.Of(1)[1].gradient, &gradients[2]);
}

TEST(TableTouches, MayBeNone) {
  TableTouches touches;
  touches.Finish();
  EXPECT_TRUE(touches.rows().empty());
}

class StepUpdateTest : public ShardRooms {
 protected:
  void OpenUpdate(const ShardOptions& options) {
    Open(options);
    update_ = std::make_unique<StepUpdate>(
        *state_,
        StepUpdate::Rooms{
            .tables = *tables_, .reader = *reader_, .writer = *writer_, .admission = *admission_},
        [this] { ++done_; });
  }
  // Of one worker, learning rate 1.
  static StepPushes PushOf(const std::vector<uint64_t>& rows) {
    PushPart part;
    part.tables = {{.table = 0, .rows = static_cast<uint32_t>(rows.size())}};
    part.ids = FrameOf(rows);
    part.gradients = FrameOf(std::vector<float>(rows.size(), 0.5f));
    part.learning_rate = 1.0f;
    StepPushes pushes;
    pushes.workers.resize(1);
    pushes.workers[0].parts_expected = pushes.workers[0].answered = 1;
    pushes.workers[0].parts[0] = std::make_shared<const PushPart>(std::move(part));
    return pushes;
  }

  std::unique_ptr<StepUpdate> update_;
  int done_ = 0;
};

TEST_F(StepUpdateTest, ACachedRowIsUpdatedInPlaceAndDirty) {
  OpenUpdate({});
  const RowCache::Slot slot = Cache(RowId{3}, 4.0f, /*is_dirty=*/false);
  update_->Apply(PushOf({3}));
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(WeightOf(RowId{3}), 3.5f);
  EXPECT_TRUE(slice().cache->is_dirty(slot));
  EXPECT_EQ(state_->counters.rows_updated, 1u);
}

TEST_F(StepUpdateTest, ARowThatWasNeverWrittenIsUpdatedWithoutARead) {
  OpenUpdate({});
  update_->Apply(PushOf({3}));
  EXPECT_EQ(done_, 1);
  EXPECT_TRUE(Take<ReadRows>().empty());
  EXPECT_NE(slice().cache->Find(RowId{3}), RowCache::kNone);
}

TEST_F(StepUpdateTest, AStoredRowIsReadFirstAndTheStepEndsThen) {
  OpenUpdate({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Cache(RowId{5}, 4.0f, /*is_dirty=*/false);
  update_->Apply(PushOf({3, 5}));
  EXPECT_EQ(done_, 0);
  EXPECT_TRUE(update_->is_reading());
  EXPECT_EQ(WeightOf(RowId{5}), 3.5f) << "cached rows do not wait";
  ReadRows read = std::move(Take<ReadRows>().at(0));
  const float stored = 8.0f;
  std::memcpy(read.reads[0].records.data(), &stored, sizeof(stored));
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  EXPECT_EQ(done_, 1);
  EXPECT_FALSE(update_->is_reading());
  EXPECT_EQ(WeightOf(RowId{3}), 7.5f);
}

TEST_F(StepUpdateTest, ARowWithoutASlotIsWrittenAtOnce) {
  OpenUpdate({.node = {.cache_ratio = 1.0 / 64, .cache_ways = 1}});
  Cache(RowId{5}, 4.0f, /*is_dirty=*/false);
  slice().cache->Pin(slice().cache->Find(RowId{5}), 0);
  update_->Apply(PushOf({3}));
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(state_->counters.rows_overflowed, 1u);
  writer_->Flush();
  EXPECT_EQ(Take<WriteRows>().at(0).writes.at(0).rows, std::vector<RowId>{RowId{3}});
}

TEST_F(StepUpdateTest, GradientsOfBf16AreSummedInF32) {
  Open({});
  const uint16_t gradients[3] = {0x3f80, 0x3b80, 0x3b80};  // 1, 2^-8, 2^-8
  const std::vector<Touch> touches = {{RowId{1}, 0, 2, &gradients[0]},
                                      {RowId{1}, 1, 1, &gradients[1]},
                                      {RowId{1}, 2, 1, &gradients[2]}};
  std::vector<float> sum(1);
  EXPECT_EQ(SumOf(table(), Precision::kBf16, touches, sum)[0], 1.0f + 0x1p-7f);
  EXPECT_EQ(SumOf(table(), Precision::kBf16, std::span(touches).first(1), sum)[0], 1.0f);
}

TEST_F(StepUpdateTest, GradientsAreSummedInWorkerOrderAndDividedByAllLookups) {
  Open({});
  const float gradients[3] = {1e8f, 1.0f, -1e8f};
  const std::vector<Touch> touches = {{RowId{1}, 0, 2, &gradients[0]},
                                      {RowId{1}, 1, 1, &gradients[1]},
                                      {RowId{1}, 2, 1, &gradients[2]}};
  std::vector<float> sum(1);
  EXPECT_EQ(SumOf(table(), Precision::kF32, touches, sum)[0], (1e8f + 1.0f) - 1e8f);
  table().spec.scale_grad_by_freq = true;
  EXPECT_EQ(SumOf(table(), Precision::kF32, std::span(touches).first(2), sum)[0],
            (1e8f + 1.0f) / 3.0f);
}

}  // namespace
}  // namespace rowhouse
