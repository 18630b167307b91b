// What a table may ask of its shard besides an optimizer: max_norm, scale_grad_by_freq, precision,
// and where first values come from. Hand-computed numbers, and what peers get wrong.
#include <unistd.h>

#include <limits>
#include <numeric>

#include "common/kernels/reductions.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/npy_writer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kDim = 3;

TableSpec ShardTableOptionsTable() {
  TableSpec table;
  table.name = "t";
  table.rows = 10;
  table.dim = kDim;
  return table;
}

// One shard with rows in memory; store actions are carried out at once.
class ShardTableOptions : public testing::Test {
 protected:
  void Open(const TableSpec& table, uint32_t workers, double cache_ratio = 1.0) {
    const std::vector<TableSpec> tables = {table};
    ShardOptions options;
    options.name = "shard 0";
    options.workers = workers;
    options.node.cache_ratio = cache_ratio;
    shard_ = Shard::Make(options, tables, MakeRowWisePlan(tables, 1),
                         InitialiserSources::Open(tables).value())
                 .value();
    store_ = std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", tables);
  }

  void Handle(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), 0)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        answer_ = Unpack(std::move(send->frames)).value();
      } else if (!std::holds_alternative<WakeAt>(action)) {
        Handle(store_->Execute(std::move(action)));
      }
    }
  }

  // The weights of one row before `step`.
  std::vector<float> Pull(uint64_t step, uint64_t row) {
    const PullRequest request{.eval = true, .tables = {{0, 1}}};
    Frames payload;
    payload.push_back(FrameOf(std::vector<uint64_t>{row}));
    payload.push_back(Frame());
    Handle(Arriving(EncodeMessage(Header{.step = step}, request, std::move(payload))));
    EXPECT_EQ(answer_.header.type, MessageType::kPullReply);
    CHECK_EQ(answer_.payload.size(), 1u);
    const std::span<const float> weights = answer_.payload[0].As<float>();
    return {weights.begin(), weights.end()};
  }

  // One part of a push, at a rate of 1; its answer.
  Status PushFrame(uint32_t worker, uint64_t step, const std::vector<uint64_t>& rows,
                   const std::vector<float>& gradients, Frame counts) {
    const PushRequest request{.learning_rate = 1.0f,
                              .tables = {{0, static_cast<uint32_t>(rows.size())}}};
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(gradients));
    payload.push_back(std::move(counts));
    Handle(Arriving(
        EncodeMessage(Header{.step = step, .sender = worker}, request, std::move(payload))));
    const Result<ErrorReply> error = DecodeBody<ErrorReply>(answer_);
    if (!error.ok()) return OkStatus();
    return Status(static_cast<StatusCode>(error.value().code), error.value().message);
  }
  Status Push(uint32_t worker, uint64_t step, const std::vector<uint64_t>& rows,
              const std::vector<float>& gradients, const std::vector<uint32_t>& counts = {}) {
    return PushFrame(worker, step, rows, gradients, FrameOf(counts));
  }

  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  Message answer_;
};

// ---- max_norm -------------------------------------------------------------------------------

TEST_F(ShardTableOptions, MaxNormShortensTheStoredRowAndThenTheOptimizerRuns) {
  for (const double cache_ratio : {1.0, 0.1}) {  // Found in the cache, and read from the store.
    for (const double norm_type : {2.0, 1.0, 2.5, std::numeric_limits<double>::infinity()}) {
      TableSpec table = ShardTableOptionsTable();
      table.max_norm = 0.05;
      table.norm_type = norm_type;
      Open(table, /*workers=*/2, cache_ratio);
      std::vector<float> want = Pull(0, 3);
      const std::vector<float> untouched = Pull(0, 4);
      ASSERT_TRUE(RenormaliseRow(table.max_norm, norm_type, want)) << "a row that is too long";
      for (float& weight : want) weight -= 1.0f * (0.5f + 0.25f);

      ASSERT_OK(Push(0, 0, {3}, std::vector<float>(kDim, 0.5f)));
      ASSERT_OK(Push(1, 0, {3}, std::vector<float>(kDim, 0.25f)));
      EXPECT_EQ(Pull(1, 3), want) << norm_type;
      EXPECT_EQ(Pull(1, 4), untouched) << "only rows of the step";

      // What the update made too long again waits for the next step.
      ASSERT_TRUE(RenormaliseRow(table.max_norm, norm_type, want));
      ASSERT_OK(Push(0, 1, {3}, std::vector<float>(kDim, 0.0f)));
      ASSERT_OK(Push(1, 1, {}, {}));
      EXPECT_EQ(Pull(2, 3), want);
      EXPECT_NEAR(RowNorm(Pull(2, 3), norm_type), table.max_norm, 1e-6);
    }
  }
}

TEST_F(ShardTableOptions, MaxNormLeavesRowsThatAreShortEnough) {
  TableSpec table = ShardTableOptionsTable();
  table.max_norm = 100.0;
  Open(table, 1);
  const std::vector<float> before = Pull(0, 3);
  ASSERT_OK(Push(0, 0, {3}, std::vector<float>(kDim, 0.0f)));
  EXPECT_EQ(Pull(1, 3), before);
}

// ---- precision ------------------------------------------------------------------------------

// Pulled as f32: first values as they would be stored, then what was stored.
TEST_F(ShardTableOptions, HalvesArePulledAsTheyAreStored) {
  for (const double cache_ratio : {1.0, 0.1}) {  // 0.1: one row, so each pull reads the store.
    for (const std::string precision : {"bf16", "f16"}) {
      SCOPED_TRACE(fmt::format("{} cache {}", precision, cache_ratio));
      TableSpec table = ShardTableOptionsTable();
      Open(table, 1);
      const std::vector<float> first = Pull(0, 3), other = Pull(0, 4);
      table.precision = precision;
      const RecordLayout layout = LayoutOf(table, *Optimizers().Make(table.optimizer, {}).value());
      std::vector<std::byte> record(layout.bytes());
      std::vector<float> want(kDim), want_other(kDim);
      WriteInitialWeights(layout, other, record.data());
      ReadWeights(layout, record.data(), want_other);
      WriteInitialWeights(layout, first, record.data());
      ReadWeights(layout, record.data(), want);
      ASSERT_NE(want, first);

      Open(table, 1, cache_ratio);
      EXPECT_EQ(Pull(0, 3), want);
      for (uint64_t step = 0; step < 3; ++step) {
        const std::vector<float> gradient = {0.01f, 1e-4f, -1e-5f};
        for (size_t c = 0; c < kDim; ++c) want[c] -= 1.0f * gradient[c];
        WriteUpdatedWeights(layout, RoundingOf(table, {RowId{3}}, step), want, record.data());
        ReadWeights(layout, record.data(), want);
        // Row 5 takes the way of row 3 in a cache of one.
        ASSERT_OK(Push(0, step, {3, 5}, {0.01f, 1e-4f, -1e-5f, 1.0f, 1.0f, 1.0f}));
        EXPECT_EQ(Pull(step + 1, 3), want);
        EXPECT_EQ(Pull(step + 1, 4), want_other) << "never touched";
      }
    }
  }
}

// ---- scale_grad_by_freq ---------------------------------------------------------------------

TEST_F(ShardTableOptions, TheSumOfAllWorkersIsDividedByTheLookupsOfAllWorkers) {
  for (const double cache_ratio : {1.0, 0.1}) {
    TableSpec table = ShardTableOptionsTable();
    table.scale_grad_by_freq = true;
    Open(table, /*workers=*/3, cache_ratio);
    std::vector<float> both = Pull(0, 3), alone = Pull(0, 4), once = Pull(0, 5);
    // Row 3: 2 + 5 lookups on workers 0 and 2; row 4: 3 on worker 0; row 5: one on worker 2.
    ASSERT_OK(Push(0, 0, {3, 4}, {0.1f, 0.2f, 0.3f, 6.0f, 6.0f, 6.0f}, {2, 3}));
    ASSERT_OK(Push(1, 0, {}, {}));
    ASSERT_OK(Push(2, 0, {3, 5}, {0.7f, 0.8f, 0.9f, 1.0f, 1.0f, 1.0f}, {5, 1}));
    const float first[] = {0.1f, 0.2f, 0.3f}, second[] = {0.7f, 0.8f, 0.9f};
    for (size_t c = 0; c < kDim; ++c) {
      both[c] -= (first[c] + second[c]) / 7.0f;
      alone[c] -= 2.0f;
      once[c] -= 1.0f;
    }
    EXPECT_EQ(Pull(1, 3), both);
    EXPECT_EQ(Pull(1, 4), alone);
    EXPECT_EQ(Pull(1, 5), once);
  }
}

TEST_F(ShardTableOptions, LookupsOfManyWorkersDoNotWrapAround) {
  TableSpec table = ShardTableOptionsTable();
  table.scale_grad_by_freq = true;
  Open(table, /*workers=*/2);
  std::vector<float> want = Pull(0, 3);
  const uint32_t most = std::numeric_limits<uint32_t>::max();
  for (uint32_t w = 0; w < 2; ++w) {
    ASSERT_OK(Push(w, 0, {3}, std::vector<float>(kDim, 0x1p31f), {most}));
  }
  for (float& weight : want) weight -= 0.5f;  // 2^32 / 2^33
  EXPECT_EQ(Pull(1, 3), want);
}

TEST_F(ShardTableOptions, WithoutScaleGradByFreqCountsAreWelcomeAndChangeNothing) {
  Open(ShardTableOptionsTable(), 1);
  std::vector<float> want = Pull(0, 3);
  ASSERT_OK(Push(0, 0, {3}, {1.0f, 1.0f, 1.0f}, {4}));
  for (float& weight : want) weight -= 1.0f;
  EXPECT_EQ(Pull(1, 3), want);
}

TEST_F(ShardTableOptions, WrongCountsAreRefusedAndHarmNobody) {
  TableSpec table = ShardTableOptionsTable();
  table.scale_grad_by_freq = true;
  Open(table, 1);
  const std::vector<float> before = Pull(0, 3);
  const std::vector<float> gradients(2 * kDim, 1.0f);
  const auto expect_refused = [&](Frame counts, const char* why) {
    const Status status = PushFrame(0, 0, {3, 4}, gradients, std::move(counts));
    EXPECT_EQ(status.code(), StatusCode::kCorruption);
    EXPECT_THAT(status.message(), testing::HasSubstr(why));
  };
  expect_refused(Frame(), "0 bytes of counts for 2 rows; table \"t\" divides by them");
  expect_refused(FrameOf(std::vector<uint32_t>{1}), "4 bytes of counts for 2 rows");
  expect_refused(FrameOf(std::vector<uint32_t>{1, 1, 1}), "12 bytes of counts for 2 rows");
  expect_refused(Frame::CopyOf("1234567"), "7 bytes of counts for 2 rows");
  expect_refused(FrameOf(std::vector<uint32_t>{1, 0}), "row 1 of a push was looked up 0 times");

  // A peer that forgets the frame altogether, or sends one too many.
  for (const size_t frames : {2u, 4u}) {
    const PushRequest request{.learning_rate = 1.0f, .tables = {{0, 2}}};
    Frames payload;
    payload.push_back(FrameOf(std::vector<uint64_t>{3, 4}));
    payload.push_back(FrameOf(gradients));
    while (payload.size() < frames) payload.push_back(FrameOf(std::vector<uint32_t>{1, 1}));
    Handle(Arriving(EncodeMessage(Header{}, request, std::move(payload))));
    EXPECT_THAT(DecodeBody<ErrorReply>(answer_).value().message,
                testing::HasSubstr("a push has 3 payload frames"));
  }

  EXPECT_EQ(shard_->next_step(), 0u);
  EXPECT_EQ(Pull(0, 3), before);
  EXPECT_OK(Push(0, 0, {3, 4}, gradients, {1, 1}));
  EXPECT_EQ(shard_->next_step(), 1u) << "the step goes on as if nothing had been";
}

TEST_F(ShardTableOptions, CountsOfTheWrongSizeAreRefusedWhereNobodyNeedsThemToo) {
  Open(ShardTableOptionsTable(), 1);
  EXPECT_EQ(Push(0, 0, {3}, {1.0f, 1.0f, 1.0f}, {1, 1}).code(), StatusCode::kCorruption);
  EXPECT_EQ(Push(0, 0, {}, {}, {1}).code(), StatusCode::kCorruption);
}

// ---- First values ---------------------------------------------------------------------------

class ShardInitialValues : public ShardTableOptions {
 protected:
  TableSpec NpyTable() {
    TableSpec table = ShardTableOptionsTable();
    table.initialiser = "npy";
    table.initialiser_options.file = path_;
    std::vector<float> values(table.rows * kDim);
    std::iota(values.begin(), values.end(), 0.0f);
    WriteNpy<float>(path_, kDim, values);
    return table;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "t.npy";
};

TEST_F(ShardInitialValues, ComeFromTheFileUntilARowIsPushed) {
  Open(NpyTable(), 1);
  EXPECT_EQ(Pull(0, 3), (std::vector<float>{9.0f, 10.0f, 11.0f}));
  ASSERT_OK(Push(0, 0, {3}, {1.0f, 1.0f, 1.0f}));
  EXPECT_EQ(Pull(1, 3), (std::vector<float>{8.0f, 9.0f, 10.0f}));
}

TEST_F(ShardInitialValues, AFileThatIsGoneFailsTheShardAndNothingElse) {
  for (const bool is_pull : {true, false}) {
    Open(NpyTable(), 1);
    EXPECT_EQ(Pull(0, 3), (std::vector<float>{9.0f, 10.0f, 11.0f}));
    ASSERT_EQ(::truncate(path_.c_str(), 128), 0);
    if (is_pull) {
      const PullRequest request{.eval = true, .tables = {{0, 1}}};
      Frames payload;
      payload.push_back(FrameOf(std::vector<uint64_t>{4}));
      payload.push_back(Frame());
      Handle(Arriving(EncodeMessage(Header{}, request, std::move(payload))));
    } else {
      ASSERT_OK(Push(0, 0, {4}, {1.0f, 1.0f, 1.0f}));  // Answered before it is applied.
      EXPECT_EQ(shard_->next_step(), 0u);
      Handle(Arriving(EncodeMessage(Header{}, FlushRequest{})));
    }
    const Result<ErrorReply> error = DecodeBody<ErrorReply>(answer_);
    ASSERT_OK(error);
    EXPECT_EQ(error.value().code, static_cast<uint8_t>(StatusCode::kIoError));
    EXPECT_THAT(error.value().message,
                testing::AllOf(testing::StartsWith("shard 0: table \"t\": "),
                               testing::HasSubstr(path_), testing::HasSubstr("truncated")));
  }
}

TEST_F(ShardInitialValues, AFileIsNeededOnlyWhereRowsOfItsTableLie) {
  TableSpec away = NpyTable(), here = ShardTableOptionsTable();
  here.name = "here";
  here.id = TableId{1};
  const std::vector<TableSpec> tables = {away, here};
  const Plan plan =
      Plan::Make(tables, 2,
                 {{.table = TableId{0}, .row_end = 10, .column_end = kDim, .shard = ShardId{1}},
                  {.table = TableId{1}, .row_end = 10, .column_end = kDim, .shard = ShardId{0}}})
          .value();
  const InitialiserSources sources = InitialiserSources::Open({here}).value();
  EXPECT_OK(Shard::Make({.id = ShardId{0}}, tables, plan, sources));
}

TEST_F(ShardInitialValues, AFileOfAnotherShapeIsTheOperatorsMistake) {
  TableSpec table = NpyTable();
  table.rows = 11;
  const std::vector<TableSpec> tables = {table};
  const InitialiserSources sources = InitialiserSources::Open(tables).value();
  const Status status = Shard::Make({}, tables, MakeRowWisePlan(tables, 1), sources).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
