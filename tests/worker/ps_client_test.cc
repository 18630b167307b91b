// PsClient against shards that a test plays: what is sent when, and what answers do.
#include "worker/client/ps_client.h"

#include "common/wire/codec.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPsClientRows = 8;

class PsClientTest : public testing::Test {
 protected:
  static PsClient MakeClient() {
    TableSpec table;
    table.name = "t";
    table.rows = kPsClientRows;
    table.dim = 2;
    return {{.deadline_ms = 1000, .answer_grace_ms = 0, .window = 1, .max_part_rows = 2},
            MakeRowWisePlan({table}, 2),
            {ShardAddress{.name = "shard 0"}, ShardAddress{.name = "shard 1"}}};
  }

  // All rows; row r has gradient r + 0.5.
  static std::vector<RowBatch> AllRows() {
    std::vector<RowBatch> batches(1);
    batches[0].dim = 2;
    for (uint64_t row = 0; row < kPsClientRows; ++row) {
      batches[0].rows.push_back(RowId{row});
      batches[0].gradients.insert(batches[0].gradients.end(), 2, static_cast<float>(row) + 0.5f);
    }
    batches[0].counts.assign(kPsClientRows, 1);
    batches[0].values.resize(kPsClientRows * 2);
    return batches;
  }

  std::vector<Message> TakeMessages(TimeMs now = 0) {
    std::vector<Message> messages;
    for (Outgoing& outgoing : client_.TakeOutgoing(now)) {
      messages.push_back(Unpack(std::move(outgoing.frames)).value());
      shard_of_[messages.back().header.request_id] = outgoing.shard;
    }
    return messages;
  }

  // Row r has the value 10 r.
  void Answer(const Message& message) {
    const size_t shard = shard_of_.at(message.header.request_id);
    if (message.header.type == MessageType::kPush) {
      return client_.OnMessage(shard, EncodeMessage(message.header, PushReply{}));
    }
    std::vector<float> values;
    for (const uint64_t row : message.payload[0].As<uint64_t>()) {
      values.insert(values.end(), 2, 10.0f * static_cast<float>(row));
    }
    Frames payload;
    payload.push_back(FrameOf(values));
    client_.OnMessage(shard, EncodeMessage(message.header, PullReply{}, std::move(payload)));
  }

  PsClient client_ = MakeClient();
  std::map<uint64_t, size_t> shard_of_;  // by request
};

TEST_F(PsClientTest, ItKnowsWhenEachShardHadAnsweredAPull) {
  std::vector<RowBatch> rows = AllRows();
  client_.StartPull(3, /*eval=*/false, &rows);
  TimeMs now = 1000;
  for (std::vector<Message> messages = TakeMessages(now); client_.busy();
       messages = TakeMessages(now)) {
    for (const Message& message : messages) {
      const size_t shard = shard_of_.at(message.header.request_id);
      now = std::max<TimeMs>(now, shard == 0 ? 1010 : 1100);
      Answer(message);
      client_.OnTick(now);
    }
  }
  ASSERT_EQ(client_.pull_ms().size(), client_.shards().size());
  EXPECT_EQ(client_.pull_ms().back(), 100);
  client_.StartPull(4, /*eval=*/false, &rows);
  EXPECT_EQ(client_.pull_ms().back(), std::nullopt);
}

TEST_F(PsClientTest, APullFetchesEveryRowPartByPart) {
  std::vector<RowBatch> rows = AllRows();
  client_.StartPull(3, /*eval=*/false, &rows);
  size_t parts = 0;
  while (client_.busy()) {
    const std::vector<Message> messages = TakeMessages();
    ASSERT_LE(messages.size(), 2u) << "a window of 1 for each shard";
    for (const Message& message : messages) {
      EXPECT_EQ(message.header.step, 3u);
      EXPECT_EQ(message.header.parts, 2u);
      Answer(message);
      ++parts;
    }
  }
  EXPECT_OK(client_.status());
  EXPECT_EQ(parts, 4u);
  for (uint64_t row = 0; row < kPsClientRows; ++row) {
    EXPECT_EQ(rows[0].values[row * 2 + 1], 10.0f * static_cast<float>(row));
  }
}

TEST_F(PsClientTest, MessagesOfAPushLendTheGradientsAndKeepThemIfItFails) {
  std::vector<RowBatch> rows = AllRows();
  client_.StartPush(5, 0.5f, 4, &rows);
  std::vector<Message> messages = TakeMessages();
  const float* const first = rows[0].gradients.data();
  const float* const lent = std::as_const(messages[0].payload[1]).As<float>().data();
  EXPECT_GE(lent, first);
  EXPECT_LT(lent, first + rows[0].gradients.size());
  client_.OnReceiveError(MakeStatus(StatusCode::kUnavailable, "gone"));
  client_.KeepLentGradients();
  EXPECT_TRUE(rows[0].gradients.empty());
  rows.clear();
  EXPECT_EQ(lent[0], static_cast<float>(messages[0].payload[0].As<uint64_t>()[0]) + 0.5f);
}

TEST_F(PsClientTest, AnsweredPushesLeaveTheGradientsToTheirOwner) {
  std::vector<RowBatch> rows = AllRows();
  client_.StartPush(5, 0.5f, 4, &rows);
  while (client_.busy()) {
    for (const Message& message : TakeMessages()) Answer(message);
  }
  client_.KeepLentGradients();
  EXPECT_EQ(rows[0].gradients.size(), kPsClientRows * 2);
}

TEST_F(PsClientTest, APushAndTheNextPullHaveAWindowEach) {
  std::vector<RowBatch> pushed = AllRows(), pulled = AllRows();
  client_.StartPush(5, 0.5f, 4, &pushed);
  client_.StartPull(6, /*eval=*/false, &pulled);
  std::vector<Message> messages = TakeMessages();
  ASSERT_EQ(messages.size(), 4u);
  std::vector<Message> pulls;
  for (Message& message : messages) {
    const bool is_push = message.header.type == MessageType::kPush;
    EXPECT_EQ(message.header.step, is_push ? 5u : 6u);
    if (is_push) {
      EXPECT_EQ(message.payload[1].As<float>()[0],
                static_cast<float>(message.payload[0].As<uint64_t>()[0]) + 0.5f);
      Answer(message);
    } else {
      pulls.push_back(std::move(message));
    }
  }
  messages = TakeMessages();  // the pulls still wait for their answers
  ASSERT_EQ(messages.size(), 2u);
  for (const Message& message : messages) {
    EXPECT_EQ(message.header.type, MessageType::kPush);
    Answer(message);
  }
  EXPECT_FALSE(client_.is_push_busy());
  EXPECT_TRUE(client_.is_pull_busy());
  while (!pulls.empty()) {
    for (const Message& pull : pulls) Answer(pull);
    pulls = TakeMessages();
  }
  EXPECT_FALSE(client_.busy());
  EXPECT_EQ(pulled[0].values.back(), 70.0f);
}

TEST_F(PsClientTest, WhoAsksIsToldWhichShardsHaveNotAnswered) {
  EXPECT_EQ(client_.DescribeUnanswered(0), "worker 0 waits for no shard\n");
  std::vector<RowBatch> rows = AllRows();
  client_.StartPull(3, /*eval=*/false, &rows);
  const std::vector<Message> messages = TakeMessages(/*now=*/100);
  ASSERT_EQ(messages.size(), 2u);
  for (const Message& message : messages) {
    if (shard_of_.at(message.header.request_id) == 0) Answer(message);
  }
  EXPECT_EQ(client_.DescribeUnanswered(350),
            "worker 0: pull of step 3 to shard 1: 1 parts unanswered, the oldest for 250 ms\n");
  const Waits waits = client_.WaitsAt(350);
  EXPECT_EQ(waits.who, "worker 0");
  EXPECT_THAT(waits.waits,
              testing::ElementsAre(Wait{.peer = "shard 1", .what = "pull of step 3", .ms = 250}));
}

TEST_F(PsClientTest, AShardWithoutRowsGetsAnEmptyPush) {
  std::vector<RowBatch> rows(1);
  rows[0].dim = 2;
  client_.StartPush(0, 0.5f, 0, &rows);
  const std::vector<Message> messages = TakeMessages();
  ASSERT_EQ(messages.size(), 2u);
  for (const Message& message : messages) {
    EXPECT_TRUE(DecodeBody<PushRequest>(message).value().tables.empty());
    Answer(message);
  }
  EXPECT_FALSE(client_.busy());
}

TEST_F(PsClientTest, APrefetchIsSentOnceAndNotWaitedFor) {
  client_.Prefetch(9, AllRows());
  const std::vector<Message> messages = TakeMessages();
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].header.type, MessageType::kPrefetch);
  EXPECT_EQ(messages[0].header.step, 9u);
  EXPECT_FALSE(client_.busy());
  EXPECT_TRUE(TakeMessages().empty());
}

TEST_F(PsClientTest, AMissedDeadlineNamesOperationStepAndShardAndEndsAll) {
  std::vector<RowBatch> pushed = AllRows(), pulled = AllRows();
  client_.StartPush(5, 0.5f, 4, &pushed);
  client_.StartPull(6, /*eval=*/false, &pulled);
  for (const Message& message : TakeMessages(/*now=*/100)) {
    if (message.header.type == MessageType::kPush) Answer(message);
  }
  EXPECT_EQ(client_.NextDeadline(), 1100);
  client_.OnTick(1100);
  EXPECT_EQ(client_.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(client_.status().message(),
              HasSubstr("worker 0: pull of step 6 to shard 0: no answer for 1000 ms"));
  EXPECT_FALSE(client_.busy());
  client_.StartFlush(6);
  EXPECT_TRUE(TakeMessages().empty()) << "nothing begins after a failure";
}

TEST_F(PsClientTest, AnAnswerOfAnotherSizeIsRefused) {
  std::vector<RowBatch> rows = AllRows();
  client_.StartPull(0, /*eval=*/false, &rows);
  const std::vector<Message> messages = TakeMessages();
  Frames payload;
  payload.push_back(FrameOf(std::vector<float>(3)));
  client_.OnMessage(0, EncodeMessage(messages[0].header, PullReply{}, std::move(payload)));
  EXPECT_EQ(client_.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(client_.status().message(), HasSubstr("does not hold the 16 bytes of rows"));
}

}  // namespace
}  // namespace rowhouse
