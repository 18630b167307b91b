#include "common/wire/message_log.h"

#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Frames Asked(MessageType type, uint64_t id, uint32_t worker) {
  Header header;
  header.type = type;
  header.request_id = id;
  header.sender = worker;
  return Pack(header, Frame(), {});
}

TEST(MessageLog, HasWhenAMessageWasAskedAndAnswered) {
  MessageLog log;
  log.OnRequest("a", Asked(MessageType::kPull, 7, 1), 10, 20);
  log.OnRequest("b", Asked(MessageType::kPush, 7, 2), 30, 40);  // another worker's 7
  log.OnAnswer("b", Asked(MessageType::kBusy, 7, 0), 45);
  log.OnAnswer("b", Asked(MessageType::kPushReply, 7, 0), 50);
  log.OnAnswer("b", Asked(MessageType::kPushReply, 7, 0), 60);  // nobody asked again
  log.OnAnswer("a", Asked(MessageType::kPullReply, 7, 0), 70);
  const std::vector<MessageTimes> answered = log.Answered();
  ASSERT_EQ(answered.size(), 2u);
  EXPECT_EQ(answered[0].worker, 2u);
  EXPECT_EQ(answered[0].is_push, 1);
  EXPECT_EQ(answered[0].end, 50);
  EXPECT_EQ(answered[1].ready, 10);
  EXPECT_EQ(answered[1].begin, 20);
  EXPECT_EQ(answered[1].end, 70);
  log.Clear();
  EXPECT_TRUE(log.Answered().empty());
}

TEST(MessageLog, PassesOverAllElse) {
  MessageLog log;
  log.OnRequest("a", Asked(MessageType::kStats, 1, 0), 0, 1);
  log.OnAnswer("a", Asked(MessageType::kStatsReply, 1, 0), 2);
  Frames nonsense;
  nonsense.push_back(Frame::CopyOf("nonsense"));
  log.OnRequest("a", nonsense, 0, 1);
  log.OnAnswer("a", nonsense, 2);
  EXPECT_TRUE(log.Answered().empty());
}

TEST(MessageLog, KeepsTheLastOnes) {
  MessageLog log;
  const uint64_t all = MessageLog::kMaxMessages + 3;
  for (uint64_t id = 0; id < all; ++id) {
    log.OnRequest("a", Asked(MessageType::kPull, id, 0), 0, 1);
    log.OnAnswer("a", Asked(MessageType::kPullReply, id, 0), 2);
  }
  const std::vector<MessageTimes> answered = log.Answered();
  ASSERT_EQ(answered.size(), MessageLog::kMaxMessages);
  EXPECT_EQ(answered.front().request_id, 3u);
  EXPECT_EQ(answered.back().request_id, all - 1);
}

}  // namespace
}  // namespace rowhouse
