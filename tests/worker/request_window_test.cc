#include "tests/testing/testing.h"
#include "worker/client/operation.h"

namespace rowhouse {
namespace {

constexpr TimeMs kPatienceMs = 100;

class RequestWindowTest : public testing::Test {
 protected:
  RequestWindowTest() { window_.Begin(kPatienceMs); }

  std::vector<size_t> SendAt(TimeMs now) {
    std::vector<size_t> numbers;
    for (const RequestWindow::Request& request : window_.Send(now, &next_id_)) {
      numbers.push_back(request.number);
    }
    return numbers;
  }

  RequestWindow window_{/*shards=*/2, /*limit=*/2};
  uint64_t next_id_ = 10;
};

TEST_F(RequestWindowTest, AShardHasNoMoreUnansweredRequestsThanTheLimit) {
  for (size_t number = 0; number < 5; ++number) window_.Add(/*shard=*/number == 4 ? 1 : 0, number);
  EXPECT_EQ(SendAt(0), (std::vector<size_t>{0, 1, 4}));
  EXPECT_EQ(SendAt(1), std::vector<size_t>());
  const auto answered = window_.TakeAnswered(11);
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->number, 1u);
  EXPECT_EQ(SendAt(2), std::vector<size_t>{2});
  EXPECT_EQ(next_id_, 14u);
}

TEST_F(RequestWindowTest, AnAnswerCountsOnce) {
  window_.Add(0, 0);
  SendAt(0);
  EXPECT_TRUE(window_.busy());
  EXPECT_FALSE(window_.TakeAnswered(99).has_value());
  EXPECT_TRUE(window_.TakeAnswered(10).has_value());
  EXPECT_FALSE(window_.TakeAnswered(10).has_value());
  EXPECT_FALSE(window_.busy());
  EXPECT_FALSE(window_.NextDeadline().has_value());
}

TEST_F(RequestWindowTest, TheOldestOfSeveralExpiredRequestsIsNamed) {
  window_.Add(1, 7);
  window_.Add(0, 8);
  SendAt(5);  // by shard: 8 has the lower id
  EXPECT_EQ(window_.NextDeadline(), 5 + kPatienceMs);
  EXPECT_FALSE(window_.OnTick(4 + kPatienceMs).expired.has_value());
  const RequestWindow::Tick tick = window_.OnTick(5 + kPatienceMs);
  ASSERT_TRUE(tick.expired.has_value());
  EXPECT_EQ(tick.expired->number, 8u);
}

TEST_F(RequestWindowTest, ADeadlineBeginsAnewAtTheTickAfterABusyReply) {
  window_.Add(0, 0);
  SendAt(0);
  EXPECT_EQ(window_.ExtendDeadline(10), 0u);
  EXPECT_EQ(window_.ExtendDeadline(11), std::nullopt);
  const RequestWindow::Tick tick = window_.OnTick(kPatienceMs + 50);
  EXPECT_TRUE(tick.was_extended);
  EXPECT_FALSE(tick.expired.has_value());
  EXPECT_EQ(window_.NextDeadline(), 2 * kPatienceMs + 50);
  EXPECT_FALSE(window_.OnTick(kPatienceMs + 60).was_extended);
}

}  // namespace
}  // namespace rowhouse
