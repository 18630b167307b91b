// A shard on its own, event by event, with hand-computed numbers.
#include "ps/shard/shard.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kShardJobId = 9;
constexpr uint64_t kIncarnation = 4;

TableSpec ShardTable() {
  TableSpec table;
  table.name = "t";
  table.rows = 10;
  table.dim = 1;
  table.optimizer = "adagrad";
  return table;
}

// Drives one shard of two workers; store actions are carried out at once unless held.
class ShardTest : public testing::Test {
 protected:
  void Open(double cache_ratio = 1.0, const TableSpec& table = ShardTable()) {
    const std::vector<TableSpec> tables = {table};
    ShardOptions options;
    options.name = "shard 0";
    options.job_id = kShardJobId;
    options.incarnation = kIncarnation;
    options.workers = 2;
    options.node.cache_ratio = cache_ratio;
    shard_ = Shard::Make(options, tables, MakeRowWisePlan(tables, 1),
                         InitialiserSources::Open(tables).value())
                 .value();
    store_ = std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", tables);
  }

  Header HeaderOf(uint32_t worker, uint64_t step) {
    Header header;
    header.job_id = kShardJobId;
    header.incarnation = kIncarnation;
    header.request_id = ++request_;
    header.sender = worker;
    header.step = step;
    header.deadline_ms = 1000;
    return header;
  }

  void Handle(ShardEvent event, TimeMs now = 0) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), now)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Result<Message> message = Unpack(std::move(send->frames));
        ASSERT_OK(message);
        answers_[message.value().header.request_id] = std::move(message).value();
      } else if (auto* wake = std::get_if<WakeAt>(&action)) {
        wake_at_ = wake->at;
      } else {
        writes_ += std::holds_alternative<WriteRows>(action) ? 1 : 0;
        Handle(store_->Execute(std::move(action)), now);
      }
    }
  }

  // Both return the request's id.
  uint64_t Pull(uint32_t worker, uint64_t step, const std::vector<uint64_t>& rows,
                bool eval = false) {
    PullRequest request;
    request.eval = eval;
    request.tables = {{0, static_cast<uint32_t>(rows.size())}};
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1)));
    Handle(Arriving(EncodeMessage(HeaderOf(worker, step), request, std::move(payload))));
    return request_;
  }
  uint64_t Push(uint32_t worker, uint64_t step, const std::vector<uint64_t>& rows,
                const std::vector<float>& gradients, uint32_t part = 0, uint32_t parts = 1) {
    PushRequest request;
    request.learning_rate = 0.1f;
    request.tables = {{0, static_cast<uint32_t>(rows.size())}};
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(gradients));
    payload.push_back(Frame());
    Header header = HeaderOf(worker, step);
    header.part = part;
    header.parts = parts;
    Handle(Arriving(EncodeMessage(header, request, std::move(payload))));
    return request_;
  }

  float PulledValue(uint64_t request) {
    CHECK(answers_.contains(request));
    CHECK_EQ(answers_[request].payload.size(), 1u);
    return answers_[request].payload[0].As<float>()[0];
  }
  Status ErrorOf(uint64_t request) {
    if (!answers_.contains(request)) return Status(StatusCode::kNotFound, "no answer");
    const Result<ErrorReply> error = DecodeBody<ErrorReply>(answers_[request]);
    if (!error.ok()) return OkStatus();
    return Status(static_cast<StatusCode>(error.value().code), error.value().message);
  }

  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::map<uint64_t, Message> answers_;
  uint64_t request_ = 0;
  int writes_ = 0;
  TimeMs wake_at_ = 0;
};

TEST_F(ShardTest, TheGradientsOfAStepAreSummedAndTheOptimizerRunsOnce) {
  Open();
  const float before = PulledValue(Pull(0, 0, {3}));
  Push(0, 0, {3}, {0.15f});
  Push(1, 0, {3}, {0.05f});
  // Adagrad on the sum moves by the whole rate; on the parts it would have moved by .1316.
  EXPECT_NEAR(PulledValue(Pull(0, 1, {3})) - before, -0.1f, 1e-6);
  EXPECT_EQ(shard_->next_step(), 1u);
  EXPECT_EQ(shard_->stats().rows_updated, 1u);
}

TEST_F(ShardTest, ErrorsToAWorkerThatGoesOnSendingNonsenseComeSlowly) {
  Open();
  constexpr uint64_t kRowBeyond = 10;
  for (int i = 0; i < 2 * Refusals::kAtOnce; ++i) Pull(0, 0, {kRowBeyond});
  EXPECT_EQ(answers_.size(), size_t{Refusals::kAtOnce});
  EXPECT_EQ(ErrorOf(1).code(), StatusCode::kCorruption);
  EXPECT_EQ(wake_at_, Refusals::kEveryMs);
  Pull(1, 0, {3});  // Others do not wait, and neither do its own requests that are right.
  Pull(0, 0, {3});
  EXPECT_EQ(answers_.size(), size_t{Refusals::kAtOnce + 2});
  for (TimeMs i = 1; i <= Refusals::kAtOnce; ++i) {
    ASSERT_EQ(wake_at_, i * Refusals::kEveryMs);
    Handle(Tick{}, wake_at_);
    ASSERT_EQ(answers_.size(), static_cast<size_t>(Refusals::kAtOnce + 2 + i));
  }
  EXPECT_EQ(ErrorOf(2 * Refusals::kAtOnce).code(), StatusCode::kCorruption);
}

TEST_F(ShardTest, NonsenseBeyondWhatMayWaitIsNotAnswered) {
  Open();
  const size_t answered = Refusals::kAtOnce + Refusals::kMaxWaiting;
  for (size_t i = 0; i < answered + 5; ++i) Pull(0, 0, {10});
  for (int i = 0; i < 1000; ++i) Handle(Tick{}, i * Refusals::kEveryMs);
  EXPECT_EQ(answers_.size(), answered);
}

TEST_F(ShardTest, TheRateOfATableIsThatOfThePushTimesItsFactor) {
  TableSpec table = ShardTable();
  table.learning_rate_factor = 0.25;
  Open(1.0, table);
  const float before = PulledValue(Pull(0, 0, {3}));
  Push(0, 0, {3}, {7.0f});
  Push(1, 0, {}, {});
  EXPECT_NEAR(PulledValue(Pull(0, 1, {3})) - before, -0.1 * 0.25, 1e-6);
}

// With beta1 = 1/2, beta2 = 0 and gradient 1 a push moves a row by rate * m / (1 - 2^-t), where
// m = m * 2^-missed / 2 + 1/2. A missed step that were not counted would show in m.
TEST_F(ShardTest, AnOptimizerIsToldTheStepsARowMissed) {
  TableSpec table = ShardTable();
  table.optimizer = "adam";
  table.optimizer_options = {.beta1 = 0.5f, .beta2 = 0.0f};
  for (const double cache_ratio : {1.0, 0.1}) {  // With one row of ten the trailer is stored.
    Open(cache_ratio, table);
    float before = PulledValue(Pull(0, 0, {3}, /*eval=*/true));
    double mean = 0.0;
    uint64_t last = 0;
    for (uint64_t step = 0; step <= 9; ++step) {
      const bool is_touched = step == 2 || step == 3 || step == 9;  // First, next, five missed.
      Push(0, step, {is_touched ? uint64_t{3} : uint64_t{8}}, {1.0f});
      Push(1, step, {5}, {1.0f});
      const float after = PulledValue(Pull(0, step + 1, {3}, /*eval=*/true));
      if (is_touched) {
        const auto missed = static_cast<double>(step - last - 1);
        mean = step == 2 ? 0.5 : mean * std::exp2(-missed) / 2 + 0.5;
        last = step;
        EXPECT_NEAR(after - before, -0.1 * mean / (1 - std::exp2(-1.0 - static_cast<double>(step))),
                    1e-6)
            << step;
      } else {
        EXPECT_EQ(after, before) << step;
      }
      before = after;
    }
  }
}

TEST_F(ShardTest, APullWaitsUntilEveryWorkerHasPushedTheStepBefore) {
  Open();
  Push(0, 0, {3}, {1.0f});
  const uint64_t pull = Pull(0, 1, {3});
  EXPECT_FALSE(answers_.contains(pull));
  Push(1, 0, {}, {});  // Nothing touched, and still needed.
  EXPECT_TRUE(answers_.contains(pull));
}

TEST_F(ShardTest, WhoAsksIsToldWhosePushIsMissing) {
  Open();
  EXPECT_THAT(
      shard_->DescribeStanding(),
      testing::HasSubstr("waits for step 0 to be complete; no push of it came from worker 0"));
  Push(0, 0, {3}, {1.0f});
  EXPECT_THAT(shard_->WaitsNow().waits,
              testing::ElementsAre(Wait{.peer = "worker 1", .what = "push of step 0"}));
}

TEST_F(ShardTest, APushIsCompleteWhenAllItsPartsAreHere) {
  Open();
  Push(0, 0, {3}, {1.0f}, 1, 2);
  Push(1, 0, {}, {});
  EXPECT_EQ(shard_->next_step(), 0u);
  Push(0, 0, {4}, {1.0f}, 0, 2);
  EXPECT_EQ(shard_->next_step(), 1u);
}

TEST_F(ShardTest, APushIsAnsweredBeforeItsStepIsApplied) {
  Open();
  const uint64_t first = Push(0, 0, {3}, {1.0f});
  EXPECT_TRUE(answers_.contains(first)) << "no step begins with it";
  const PushRequest last{.learning_rate = 0.1f, .samples = 1, .tables = {}, .bags = {}};
  Frames payload(3);
  const std::vector<ShardAction> actions =
      shard_->Handle(Arriving(EncodeMessage(HeaderOf(1, 0), last, std::move(payload))), 0);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<SendFrames>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<CallAgain>(actions[1]));
  EXPECT_EQ(shard_->next_step(), 0u) << "not yet";
  EXPECT_EQ(shard_->stats().rows_updated, 0u);
  Handle(Continue{});
  EXPECT_EQ(shard_->next_step(), 1u);
  EXPECT_EQ(shard_->stats().rows_updated, 1u);
}

TEST_F(ShardTest, ARepeatedPushIsAnsweredAgainAndCountsOnce) {
  Open();
  Push(0, 0, {3}, {1.0f});
  EXPECT_OK(ErrorOf(Push(0, 0, {3}, {1.0f})));
  Push(1, 0, {3}, {1.0f});
  EXPECT_EQ(shard_->next_step(), 1u);
  EXPECT_OK(ErrorOf(Push(0, 0, {3}, {1.0f})));
  EXPECT_EQ(shard_->next_step(), 1u);
  EXPECT_EQ(shard_->stats().rows_updated, 1u);
}

TEST_F(ShardTest, APushMayBeOneStepAhead) {
  Open();
  Push(0, 0, {}, {});
  Push(0, 1, {5}, {1.0f});
  Push(1, 1, {}, {});
  EXPECT_EQ(shard_->next_step(), 0u);
  Push(1, 0, {}, {});
  EXPECT_EQ(shard_->next_step(), 2u);
}

TEST_F(ShardTest, RowsThatWereOnlyPulledAreNeverWritten) {
  Open(0.1);  // One row of ten: pulls evict each other.
  for (uint64_t row = 0; row < 10; ++row) Pull(0, 0, {row}, row % 2 == 0);
  Handle(Arriving(EncodeMessage(HeaderOf(0, 0), FlushRequest{})));
  EXPECT_OK(ErrorOf(request_));
  EXPECT_EQ(writes_, 0);
}

TEST_F(ShardTest, ABatchLargerThanTheCacheIsAppliedAllTheSame) {
  Open(0.1);
  std::vector<uint64_t> rows(10);
  std::iota(rows.begin(), rows.end(), 0);
  const uint64_t before = Pull(0, 0, rows);
  Push(0, 0, rows, std::vector<float>(10, 1.0f));
  Push(1, 0, {}, {});
  const uint64_t after = Pull(0, 1, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(answers_[after].payload[0].As<float>()[i],
                answers_[before].payload[0].As<float>()[i] - 0.1f, 1e-6);
  }
  EXPECT_GT(shard_->stats().rows_overflowed, 0u);
}

// A worker that pushes while its own pull still reads breaks the protocol; the row must not come to
// lie in the cache twice all the same.
TEST_F(ShardTest, APushThatOvertakesItsPullLeavesOneCopyOfTheRow) {
  Open(0.5);
  shard_->NoteStored(TableId{0}, RowId{5}, 0);  // It may be, as far as the shard knows: it looks.
  const PullRequest request{.eval = false, .tables = {{0, 1}}};
  Frames payload;
  payload.push_back(FrameOf(std::vector<uint64_t>{5}));
  payload.push_back(FrameOf(std::vector<uint32_t>{1}));
  auto pull =
      HandleAll(*shard_, Arriving(EncodeMessage(HeaderOf(0, 0), request, std::move(payload))), 0);
  ShardAction read = std::move(pull.at(0));

  PushRequest push;
  push.learning_rate = 0.1f;
  push.tables = {{0, 1}};
  Frames gradients;
  gradients.push_back(FrameOf(std::vector<uint64_t>{5}));
  gradients.push_back(FrameOf(std::vector<float>{1.0f}));
  gradients.push_back(Frame());
  Push(1, 0, {}, {});
  auto applying =
      HandleAll(*shard_, Arriving(EncodeMessage(HeaderOf(0, 0), push, std::move(gradients))), 0);
  ShardAction apply_read = std::move(applying.back());
  ASSERT_TRUE(std::holds_alternative<ReadRows>(apply_read));
  Handle(store_->Execute(std::move(read)));
  Handle(store_->Execute(std::move(apply_read)));
  EXPECT_EQ(shard_->next_step(), 1u);
  const float once = PulledValue(Pull(0, 1, {5}));
  Push(0, 1, {5}, {0.0f});
  Push(1, 1, {}, {});
  EXPECT_EQ(PulledValue(Pull(0, 2, {5})), once);
}

TEST_F(ShardTest, AParkedPullEndsAtItsDeadlineNamingWhoDidNotPush) {
  Open();
  Push(0, 0, {3}, {1.0f});
  const uint64_t pull = Pull(0, 1, {3});
  EXPECT_EQ(wake_at_, 1000);
  Handle(Tick{}, 999);
  EXPECT_FALSE(answers_.contains(pull));
  Handle(Tick{}, 1000);
  EXPECT_EQ(ErrorOf(pull).code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(ErrorOf(pull).message(), testing::HasSubstr("step 0"));
  EXPECT_THAT(ErrorOf(pull).message(), testing::HasSubstr("worker 1"));
}

TEST_F(ShardTest, WhatAPeerGetsWrongIsAnErrorAndHarmsNobody) {
  Open();
  EXPECT_EQ(ErrorOf(Pull(0, 0, {10})).code(), StatusCode::kCorruption) << "row beyond the table";
  EXPECT_EQ(ErrorOf(Push(0, 0, {3}, {1.0f, 2.0f})).code(), StatusCode::kCorruption);
  EXPECT_EQ(ErrorOf(Push(0, 9, {3}, {1.0f})).code(), StatusCode::kInternal) << "far ahead";
  EXPECT_EQ(ErrorOf(Pull(7, 0, {3})).code(), StatusCode::kCorruption) << "no such worker";
  EXPECT_EQ(ErrorOf(Pull(0, 9, {3})).code(), StatusCode::kInternal) << "far ahead";
  for (const uint32_t table : {1u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    PullRequest request;
    request.tables = {{table, 1}};
    Frames payload;
    payload.push_back(FrameOf(std::vector<uint64_t>{3}));
    payload.push_back(FrameOf(std::vector<uint32_t>{1}));
    Handle(Arriving(EncodeMessage(HeaderOf(0, 0), request, std::move(payload))));
    EXPECT_EQ(ErrorOf(request_).code(), StatusCode::kCorruption) << "no table " << table;
  }

  Header header = HeaderOf(0, 0);
  header.job_id = 1;
  Handle(Arriving(EncodeMessage(header, FlushRequest{})));
  EXPECT_EQ(ErrorOf(header.request_id).code(), StatusCode::kUnavailable);
  header = HeaderOf(0, 0);
  header.incarnation = 3;
  Handle(Arriving(EncodeMessage(header, FlushRequest{})));
  EXPECT_THAT(ErrorOf(header.request_id).message(), testing::HasSubstr("started anew"));

  Frames garbage;
  garbage.push_back(Frame::CopyOf("not a header"));
  Handle(Arriving(std::move(garbage)));

  Push(0, 0, {3}, {1.0f});
  Push(1, 0, {3}, {1.0f});
  EXPECT_EQ(shard_->next_step(), 1u) << "the step goes on as if nothing had been";
}

TEST_F(ShardTest, AfterAFailedStoreActionEverythingIsRefused) {
  Open(0.1);
  shard_->NoteStored(TableId{0}, RowId{5}, 0);
  const uint64_t parked = Pull(0, 1, {3});
  // A pull that misses asks for a read; here the read fails.
  const PullRequest request{.eval = false, .tables = {{0, 1}}};
  Frames payload;
  payload.push_back(FrameOf(std::vector<uint64_t>{5}));
  payload.push_back(FrameOf(std::vector<uint32_t>{1}));
  const Header header = HeaderOf(0, 0);
  auto actions =
      HandleAll(*shard_, Arriving(EncodeMessage(header, request, std::move(payload))), 0);
  auto& read = std::get<ReadRows>(actions.at(0));
  Handle(RowsRead{.ticket = read.ticket,
                  .status = Status(StatusCode::kIoError, "sector 7 is gone"),
                  .reads = std::move(read.reads)});
  for (const uint64_t id : {parked, header.request_id, Pull(1, 0, {1}), Push(1, 0, {}, {})}) {
    EXPECT_EQ(ErrorOf(id).code(), StatusCode::kIoError);
    EXPECT_EQ(ErrorOf(id).message(), "shard 0: sector 7 is gone");
  }
}

// Nothing of such a row reaches the store, and nobody is told that all is kept.
TEST_F(ShardTest, ARowThatIsNoLongerFiniteEndsTheRunWhenItIsToBeKept) {
  TableSpec table = ShardTable();
  table.optimizer = "sgd";
  for (const bool by_flush : {true, false}) {
    Open(/*cache_ratio=*/1.0, table);
    writes_ = 0;
    Pull(0, 0, {3, 4});
    Push(0, 0, {3, 4}, {0.5f, std::numeric_limits<float>::max()});
    Push(1, 0, {4}, {std::numeric_limits<float>::max()});
    EXPECT_EQ(shard_->next_step(), 1u);
    const Header header = HeaderOf(0, 1);
    Handle(Arriving(by_flush ? EncodeMessage(header, FlushRequest{}, {})
                             : EncodeMessage(header, DigestRequest{}, {})));
    const Status refused = ErrorOf(request_);
    EXPECT_EQ(refused.code(), StatusCode::kInternal);
    EXPECT_EQ(refused.message(),
              "shard 0: table \"t\", row 4: column 0 is -inf after step 0: lower learning_rate");
    // From then on everything is answered so.
    EXPECT_EQ(ErrorOf(Pull(0, 1, {3})).message(), refused.message());
    EXPECT_EQ(ErrorOf(Push(0, 1, {3}, {0.0f})).message(), refused.message());
    Handle(Arriving(EncodeMessage(HeaderOf(0, 1), FlushRequest{}, {})));
    EXPECT_EQ(ErrorOf(request_).message(), refused.message());
    StoreRead read{.slice = {.table = TableId{0}, .first_column = 0, .record_bytes = 20},
                   .rows = {RowId{4}}};
    read.records.resize(20);
    const auto found = std::get<RowsRead>(store_->Execute(ReadRows{.ticket = 1, .reads = {read}}));
    ASSERT_OK(found.status);
    EXPECT_EQ(found.reads[0].missing.size(), 1u);
  }
}

TEST_F(ShardTest, ARowThatIsNoLongerFiniteIsFoundWhenItLeavesTheCache) {
  TableSpec table = ShardTable();
  table.optimizer = "sgd";
  Open(/*cache_ratio=*/0.1, table);  // One row.
  Push(0, 0, {4}, {std::numeric_limits<float>::max()});
  Push(1, 0, {4}, {std::numeric_limits<float>::max()});
  EXPECT_OK(ErrorOf(Pull(0, 1, {4}, /*eval=*/true)));
  Push(0, 1, {5}, {0.0f});
  Push(1, 1, {5}, {0.0f});
  EXPECT_THAT(ErrorOf(Pull(0, 2, {3})).message(), testing::HasSubstr("table \"t\", row 4"));
  EXPECT_EQ(writes_, 0);
}

}  // namespace
}  // namespace rowhouse
