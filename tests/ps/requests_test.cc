#include "ps/shard/requests.h"

#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class RequestsTest : public ShardRooms {
 protected:
  RequestsTest() {
    Open({.name = "shard 0", .job_id = 7, .incarnation = 2, .workers = 2, .first_step = 10});
    requests_ = std::make_unique<Requests>(*state_, *tables_);
  }
  static Message PullOf(uint64_t step, const std::vector<uint64_t>& rows,
                        const std::vector<uint32_t>& counts) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(counts));
    const PullRequest request{
        .eval = false, .tables = {{0, static_cast<uint32_t>(rows.size()), 0}}, .bags = {}};
    return Unpack(EncodeMessage({.step = step}, request, std::move(payload))).value();
  }
  static Message PushOf(const std::vector<uint64_t>& rows, const std::vector<float>& gradients,
                        const std::vector<uint32_t>& counts = {}) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(gradients));
    payload.push_back(FrameOf(counts));
    const PushRequest request{.learning_rate = 0.5f,
                              .samples = 1,
                              .tables = {{0, static_cast<uint32_t>(rows.size()), 0}},
                              .bags = {}};
    return Unpack(EncodeMessage({.step = 10, .parts = 1}, request, std::move(payload))).value();
  }
  Status ErrorOf(Message pull) { return requests_->ReadPull("peer", std::move(pull)).status(); }

  std::unique_ptr<Requests> requests_;
};

TEST_F(RequestsTest, OnlyMessagesOfThisJobServerAndItsWorkersAreTaken) {
  const Header good{.job_id = 7, .sender = 1, .incarnation = 2};
  EXPECT_OK(requests_->CheckHeader(good));
  Header any_server = good;
  any_server.incarnation = 0;
  EXPECT_OK(requests_->CheckHeader(any_server));
  Header other = good;
  other.job_id = 8;
  EXPECT_EQ(requests_->CheckHeader(other).code(), StatusCode::kUnavailable);
  other = good;
  other.incarnation = 1;
  EXPECT_EQ(requests_->CheckHeader(other).code(), StatusCode::kUnavailable);
  other = good;
  other.sender = 2;
  EXPECT_EQ(requests_->CheckHeader(other).code(), StatusCode::kCorruption);
}

TEST_F(RequestsTest, QuestionsAboutStepsThatAreFarAwayAreRefused) {
  EXPECT_OK(requests_->CheckControl({.step = 0}));
  EXPECT_OK(requests_->CheckControl({.step = 10 + kMaxStepsAhead}));
  EXPECT_EQ(requests_->CheckControl({.step = 11 + kMaxStepsAhead}).code(), StatusCode::kInternal);
  EXPECT_EQ(requests_->CheckControl({.step = uint64_t{1} << 62}).code(), StatusCode::kInternal);
}

TEST_F(RequestsTest, ACheckpointIsAskedForByWorker0AndHasTheNameOfItsStep) {
  const auto error = [&](const Header& header, const CheckpointRequest& request) {
    return requests_->ReadCheckpoint(Unpack(EncodeMessage(header, request)).value()).status();
  };
  using Phase = CheckpointPhase;
  EXPECT_OK(error({.step = 10}, {.phase = Phase::kAsk}));
  EXPECT_OK(error({.step = 10}, {.phase = Phase::kMark, .name = "step-10"}));
  EXPECT_OK(error({.step = 10}, {.phase = Phase::kDelete, .deleted = {"step-9", "step-8"}}));
  EXPECT_OK(error({.step = 10}, {.phase = Phase::kDelete, .name = "step-10"}));
  for (const Status& status :
       {error({.step = 10, .sender = 1}, {.phase = Phase::kDelete}),
        error({.step = 10}, {.phase = Phase::kMark}),
        error({.step = 10}, {.phase = Phase::kMark, .name = "step-9"}),
        error({.step = 10}, {.phase = Phase::kDelete, .name = "step-9"}),
        error({.step = 10}, {.phase = Phase::kDelete, .deleted = {"step-9", "../../x"}}),
        error({.step = 10}, {.phase = static_cast<Phase>(3)})}) {
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.message();
  }
}

TEST_F(RequestsTest, WhatWaitsStaysWithinTheMemoryOfTheNode) {
  Open({.name = "shard 0",
        .workers = 2,
        .first_step = 10,
        .request_memory = std::make_shared<RequestMemory>(3 * kRequestBytes)});
  requests_ = std::make_unique<Requests>(*state_, *tables_);
  RequestMemory& memory = *state_->options.request_memory;
  {
    const auto first = requests_->ReadPull("peer", PullOf(10, {3, 5}, {1, 2}));
    const auto second = requests_->ReadPull("peer", PullOf(10, {3, 5}, {1, 2}));
    EXPECT_EQ(memory.used(), 2 * (kRequestBytes + 24));
    EXPECT_OK(first);
    EXPECT_OK(second);
    const Status third = ErrorOf(PullOf(10, {3, 5}, {1, 2}));
    EXPECT_EQ(third.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(third.message(), HasSubstr("--memory_limit_mb"));
  }
  EXPECT_EQ(memory.used(), 0u);
}

TEST_F(RequestsTest, ASoundPullComesOutAsItIs) {
  state_->now = 100;
  const Result<PullTask> pull = requests_->ReadPull("peer", PullOf(11, {3, 5}, {1, 2}));
  ASSERT_OK(pull);
  EXPECT_EQ(pull.value().request.header.step, 11u);
  EXPECT_GT(pull.value().request.deadline, 100) << "it has none, so it never comes";
  ASSERT_EQ(pull.value().tables.size(), 1u);
  EXPECT_EQ(pull.value().tables[0].rows, 2u);
  EXPECT_EQ(pull.value().reply_numbers, 2u);
}

TEST_F(RequestsTest, APullOfWrongSizesRowsOrStepsIsRefused) {
  EXPECT_THAT(ErrorOf(PullOf(10, {3, 5}, {1})).message(), HasSubstr("bytes of counts"));
  EXPECT_THAT(ErrorOf(PullOf(10, {64}, {1})).message(), HasSubstr("row 64 does not lie here"));
  EXPECT_EQ(ErrorOf(PullOf(9, {3}, {1})).code(), StatusCode::kInternal) << "applied";
  EXPECT_EQ(ErrorOf(PullOf(10 + kMaxStepsAhead + 1, {3}, {1})).code(), StatusCode::kInternal);
  Message pull = PullOf(10, {3}, {1});
  pull.payload.pop_back();
  EXPECT_THAT(ErrorOf(std::move(pull)).message(), HasSubstr("payload frames"));
  pull = PullOf(10, {3}, {1});
  pull.payload[0] = FrameOf(std::vector<uint64_t>{3, 4});
  EXPECT_THAT(ErrorOf(std::move(pull)).message(), HasSubstr("bytes of ids for 1 rows"));
}

TEST_F(RequestsTest, APushHasNumbersOfTheJobsPrecision) {
  Open({.name = "shard 0",
        .workers = 2,
        .row_precision = {.push = Precision::kBf16},
        .first_step = 10});
  requests_ = std::make_unique<Requests>(*state_, *tables_);
  EXPECT_OK(requests_->ReadPush(PushOf({3, 5}, {1.0f})));
  EXPECT_THAT(requests_->ReadPush(PushOf({3, 5}, {1.0f, 2.0f})).status().message(),
              HasSubstr("8 bytes of gradients for 2 numbers of 2"));
}

TEST_F(RequestsTest, APushNeedsAGradientForEachRowAndCountsWhereItsTableDividesByThem) {
  EXPECT_OK(requests_->ReadPush(PushOf({3, 5}, {1.0f, 2.0f})));
  EXPECT_EQ(requests_->ReadPush(PushOf({3, 5}, {1.0f})).status().code(), StatusCode::kCorruption);
  table().spec.scale_grad_by_freq = true;
  EXPECT_THAT(requests_->ReadPush(PushOf({3}, {1.0f})).status().message(),
              HasSubstr("divides by them"));
  EXPECT_THAT(requests_->ReadPush(PushOf({3, 5}, {1.0f, 2.0f}, {1, 0})).status().message(),
              HasSubstr("row 1 of a push was looked up 0 times"));
  const Result<PushPart> part = requests_->ReadPush(PushOf({3, 5}, {1.0f, 2.0f}, {1, 4}));
  ASSERT_OK(part);
  EXPECT_EQ(part.value().rows(), 2u);
  EXPECT_EQ(part.value().learning_rate, 0.5f);
}

TEST_F(RequestsTest, RowsThatLiveOnTheWorkersDoNotLieHere) {
  table().worker_rows = {RowId{5}};
  EXPECT_OK(requests_->ReadPull("peer", PullOf(10, {4}, {1})));
  EXPECT_EQ(ErrorOf(PullOf(10, {5}, {1})).code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace rowhouse
