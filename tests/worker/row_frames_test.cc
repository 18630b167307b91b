#include "worker/client/row_frames.h"

#include "sharding/plans/plan_maker.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRowFramesRows = 50;
constexpr uint32_t kRowFramesDim = 32;

// Rows scattered over two shards, the second of which has them in two halves of columns with the
// third; row 7 lives on the workers.
Plan ScatteredPlan() {
  TableSpec table;
  table.name = "t";
  table.rows = kRowFramesRows;
  table.dim = kRowFramesDim;
  const std::vector<Slice> slices = {
      {.row_end = 20, .column_end = kRowFramesDim, .shard = ShardId{0}},
      {.row_begin = 20, .row_end = kRowFramesRows, .column_end = 16, .shard = ShardId{1}},
      {.row_begin = 20,
       .row_end = kRowFramesRows,
       .column_begin = 16,
       .column_end = kRowFramesDim,
       .shard = ShardId{2}}};
  return Plan::Make({table}, 3, slices,
                    {{.order = RowOrder::Scattered(kRowFramesRows, 5), .worker_rows = {RowId{7}}}})
      .value();
}

std::vector<RowBatch> Batches() {
  std::vector<RowBatch> batches(1);
  RowBatch& batch = batches[0];
  batch.dim = kRowFramesDim;
  for (uint64_t row = 1; row < kRowFramesRows; row += 2) {
    batch.rows.push_back(RowId{row});
    batch.counts.push_back(static_cast<uint32_t>(row));
    for (uint32_t c = 0; c < kRowFramesDim; ++c) {
      batch.gradients.push_back(static_cast<float>(row * 100 + c));
    }
  }
  batch.values.assign(batch.gradients.size(), -1.0f);
  return batches;
}

TEST(RowFrames, GradientsThatComeBackAsValuesAreEachRowsOwn) {
  const Router router(ScatteredPlan());
  std::vector<RowBatch> batches = Batches();
  RowFrames frames;
  PartDivider divider(3, {.rows = 6});
  frames.Route(router, batches, /*trained_only=*/true, &divider);
  for (const MessagePart& part : divider.Take(/*to_every_shard=*/false)) {
    const Frame gradients = frames.Gradients(batches, part, std::make_shared<KeptGradients>());
    EXPECT_EQ(gradients.size(), frames.BytesOf(part));
    frames.CopyValues(part, gradients, &batches);
    // Ids, counts, and gradients lie in the same order.
    const Frame ids = frames.Ids(batches, part), counts = frames.Counts(batches, part);
    size_t row = 0, at = 0;
    for (const TableRows& entry : RowFrames::TablesOf(batches, part)) {
      const uint32_t columns = part.shard == 0 ? kRowFramesDim : 16;
      EXPECT_EQ(entry.first_column, part.shard == 2 ? 16u : 0u);
      for (uint32_t r = 0; r < entry.rows; ++r, ++row, at += columns) {
        const uint64_t id = ids.As<uint64_t>()[row];
        EXPECT_EQ(counts.As<uint32_t>()[row], id);
        EXPECT_EQ(gradients.As<float>()[at], static_cast<float>(id * 100 + entry.first_column));
      }
    }
  }
  const RowBatch& batch = batches[0];
  for (size_t r = 0; r < batch.rows.size(); ++r) {
    for (uint32_t c = 0; c < kRowFramesDim; ++c) {
      const size_t i = r * kRowFramesDim + c;
      EXPECT_EQ(batch.values[i], batch.rows[r] == RowId{7} ? -1.0f : batch.gradients[i]);
    }
  }
}

TEST(RowFrames, InBf16TakeHalfTheBytesAndRoundEachNumber) {
  const Router router(ScatteredPlan());
  std::vector<RowBatch> batches = Batches();
  for (float& gradient : batches[0].gradients) gradient *= 1.0f / 3.0f;
  std::vector<float> expected = batches[0].gradients;
  RoundNumbers(Precision::kBf16, expected);
  RowFrames f32, bf16(Precision::kBf16);
  PartDivider divider(3, bf16.Limit({.rows = 6}));
  f32.Route(router, batches, /*trained_only=*/true, &divider);
  divider.Take(/*to_every_shard=*/false);
  bf16.Route(router, batches, /*trained_only=*/true, &divider);
  for (const MessagePart& part : divider.Take(/*to_every_shard=*/false)) {
    const Frame gradients = bf16.Gradients(batches, part, std::make_shared<KeptGradients>());
    EXPECT_EQ(gradients.size(), bf16.BytesOf(part));
    EXPECT_EQ(2 * gradients.size(), f32.BytesOf(part));
    bf16.CopyValues(part, gradients, &batches);
  }
  const size_t at_7 = 3 * kRowFramesDim;  // It lives on the workers.
  std::fill_n(&expected[at_7], kRowFramesDim, -1.0f);
  EXPECT_EQ(batches[0].values, expected);
}

// A part has as many bytes of rows as its limit, whatever a number takes.
TEST(RowFrames, InBf16TwiceAsManyRowsFillAPart) {
  TableSpec table;
  table.name = "t";
  table.rows = 1000;
  table.dim = 64;
  const Router router(MakeRowWisePlan({table}, 1));
  std::vector<RowBatch> batches = {{.dim = 64, .rows = {}, .counts = {}}};
  for (uint64_t row = 0; row < 1000; ++row) batches[0].rows.push_back(RowId{row});
  const auto parts = [&](Precision precision) {
    RowFrames frames(precision);
    PartDivider divider(1, frames.Limit({.bytes = 100 * (8 + 128)}));
    frames.Route(router, batches, /*trained_only=*/false, &divider);
    return divider.Take(/*to_every_shard=*/false).size();
  };
  EXPECT_EQ(parts(Precision::kBf16), 10u);
  EXPECT_EQ(parts(Precision::kF32), 20u);
}

TEST(RowFrames, FrozenTablesAreNotPushed) {
  const Router router(ScatteredPlan());
  std::vector<RowBatch> batches = Batches();
  batches[0].trains = false;
  RowFrames frames;
  PartDivider divider(3, {});
  frames.Route(router, batches, /*trained_only=*/true, &divider);
  EXPECT_TRUE(divider.Take(false).empty());
  frames.Route(router, batches, /*trained_only=*/false, &divider);
  EXPECT_EQ(divider.Take(false).size(), 3u);
}

}  // namespace
}  // namespace rowhouse
