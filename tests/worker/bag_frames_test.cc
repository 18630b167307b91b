#include "worker/client/bag_frames.h"

#include <algorithm>
#include <optional>

#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// Rows 0 .. 4 of a table of one column on shard 0, 5 .. 9 on shard 1.
Plan SplitPlan() {
  TableSpec table;
  table.name = "t";
  table.rows = 10;
  table.dim = 1;
  return Plan::Make({table}, 2,
                    {{.row_end = 5, .column_end = 1, .shard = ShardId{0}},
                     {.row_begin = 5, .row_end = 10, .column_end = 1, .shard = ShardId{1}}},
                    {{.pools_on_shards = true}})
      .value();
}

class BagFramesTest : public testing::Test {
 protected:
  // Two bags: rows 6, 1, 7 and row 2.
  void Route(Pooling pooling) {
    batches_[0] = {.dim = 1, .table_rows = 10, .pooling = pooling, .exact = true};
    batches_[0].offsets = {0, 3, 4};
    batches_[0].rows = {6, 1, 7, 2};
    frames_.emplace(router_, &batches_);
    PartDivider divider(2, {});
    frames_->AddTo(&divider, /*trained_only=*/false);
    parts_ = divider.Take(/*to_every_shard=*/false);
    ASSERT_EQ(parts_.size(), 2u);
  }

  const Router router_{SplitPlan()};
  std::vector<BagBatch> batches_ = std::vector<BagBatch>(1);
  std::optional<BagFrames> frames_;
  std::vector<MessagePart> parts_;  // by shard
};

TEST_F(BagFramesTest, EachShardGetsTheLookupsWhoseRowsItOwns) {
  Route(Pooling::kSum);
  const std::vector<std::vector<uint32_t>> ids = {{1, 2}, {6, 7}}, lengths = {{1, 1}, {2, 0}};
  for (size_t shard = 0; shard < 2; ++shard) {
    Frames payload;
    frames_->EncodeLookups(parts_[shard], &payload);
    ASSERT_EQ(payload.size(), 3u);
    EXPECT_TRUE(std::ranges::equal(payload[0].As<uint32_t>(), ids[shard]));
    EXPECT_TRUE(std::ranges::equal(payload[1].As<uint32_t>(), lengths[shard]));
    EXPECT_EQ(payload[2].size(), 0u) << "no weights";
    const std::vector<TableBags> tables = frames_->TablesOf(parts_[shard]);
    ASSERT_EQ(tables.size(), 1u);
    EXPECT_EQ(tables[0].bags, 2u);
    EXPECT_EQ(tables[0].lookups, 2u);
    EXPECT_TRUE(tables[0].is_partial);
    EXPECT_TRUE(tables[0].is_exact);
  }
}

TEST_F(BagFramesTest, PartialSumsAddUp) {
  Route(Pooling::kSum);
  ASSERT_OK(frames_->CopyPooled(parts_[1], FrameOf(std::vector<double>{2.5, 0.0}), Frame()));
  ASSERT_OK(frames_->CopyPooled(parts_[0], FrameOf(std::vector<double>{0.25, 4.0}), Frame()));
  EXPECT_EQ(batches_[0].pooled, (std::vector<float>{2.75f, 4.0f}));
}

TEST_F(BagFramesTest, TheLowestPlaceWinsATieOfMaximaWhoeverAnswersFirst) {
  for (const bool is_reversed : {false, true}) {
    Route(Pooling::kMax);
    // Shard 0 has place 1 of bag 0; shard 1 has places 0 and 2, of which 0 is the greater.
    const std::vector<std::vector<float>> maxima = {{3.0f, 5.0f}, {3.0f, 0.0f}};
    const std::vector<std::vector<uint32_t>> winners = {{0, 0}, {0, kNoWinner}};
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const size_t shard = is_reversed ? 1 - k : k;
      ASSERT_OK(
          frames_->CopyPooled(parts_[shard], FrameOf(maxima[shard]), FrameOf(winners[shard])));
    }
    EXPECT_EQ(batches_[0].pooled, (std::vector<float>{3.0f, 5.0f}));
    EXPECT_EQ(batches_[0].winners, (std::vector<uint32_t>{0, 3}));
    // Each shard is told its own winners.
    batches_[0].gradients = {1.0f, 2.0f};
    Frames payload;
    frames_->EncodeGradients(parts_[0], &payload);
    frames_->EncodeGradients(parts_[1], &payload);
    EXPECT_TRUE(std::ranges::equal(payload[1].As<uint32_t>(), std::vector<uint32_t>{kNoWinner, 0}));
    EXPECT_TRUE(std::ranges::equal(payload[3].As<uint32_t>(), std::vector<uint32_t>{0, kNoWinner}));
  }
}

TEST_F(BagFramesTest, AnswersThatDoNotFitAreRefused) {
  Route(Pooling::kMax);
  const Frame maxima = FrameOf(std::vector<float>{1.0f, 2.0f});
  const Status short_one = frames_->CopyPooled(parts_[0], maxima, Frame());
  EXPECT_EQ(short_one.code(), StatusCode::kCorruption);
  const Status foreign =
      frames_->CopyPooled(parts_[0], maxima, FrameOf(std::vector<uint32_t>{0, 1}));
  EXPECT_THAT(foreign.message(), HasSubstr("the winner of bag 1 is none of its lookups"));
}

}  // namespace
}  // namespace rowhouse
