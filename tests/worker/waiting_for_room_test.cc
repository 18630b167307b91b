// Two workers in an exchange, one of them late, and shards that say BUSY, or not.
#include <deque>
#include <thread>

#include "common/wire/codec.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"
#include "tests/testing/thread_communicator.h"
#include "worker/client/ps_client.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr int64_t kDeadlineMs = 20;
constexpr size_t kShards = 2;

// Shards answer STATS; the second says BUSY before that, the first `busy_looks` times.
class BusyDialer final : public Dialer {
 public:
  explicit BusyDialer(int busy_looks) : busy_looks_(busy_looks) {}

  Result<size_t> Connect(const std::string&) override { return size_t{0}; }
  Status Send(size_t shard, Frames frames) override {
    const Message message = Unpack(std::move(frames)).value();
    EXPECT_EQ(message.header.type, MessageType::kStats);
    EXPECT_EQ(message.header.step, 0u) << "no shard may let it wait for a push";
    EXPECT_EQ(message.header.deadline_ms, kDeadlineMs) << "of the exchange";
    if (shard == 1 && looks_++ < busy_looks_) {
      Answer(shard, EncodeMessage(message.header, BusyReply{.message = "shard 1 is full"}));
    }
    Answer(shard, EncodeMessage(message.header, StatsReply{}));
    return OkStatus();
  }
  Result<std::optional<Incoming>> Receive(int) override {
    CHECK(!answers_.empty()) << "nothing is on its way";
    Incoming answer = std::move(answers_.front());
    answers_.pop_front();
    return std::optional<Incoming>(std::move(answer));
  }
  int looks() const { return looks_; }

 private:
  void Answer(size_t shard, Frames frames) {
    answers_.push_back({.peer = {}, .listener = shard, .frames = std::move(frames)});
  }

  const int busy_looks_;
  int looks_ = 0;
  std::deque<Incoming> answers_;
};

class WaitingForRoomTest : public testing::Test {
 protected:
  static PsClient MakeClient() {
    TableSpec table;
    table.rows = 4;
    table.dim = 2;
    return {{}, MakeRowWisePlan({table}, kShards), std::vector<ShardAddress>(kShards)};
  }

  const std::vector<std::unique_ptr<Communicator>> workers_ =
      MakeThreadCommunicators(2, kDeadlineMs);
  PsClient client_ = MakeClient();
  const SystemClock clock_;
  std::vector<float> values_ = {1.0f};
};

TEST_F(WaitingForRoomTest, TheWaitBeginsAnewAsLongAsAShardIsBusy) {
  constexpr int kBusyLooks = 1000;  // many times the deadline
  BusyDialer dialer(kBusyLooks);
  const WaitingForRoom waiting(*workers_[0], client_, dialer, clock_);
  std::jthread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * kDeadlineMs));
    std::vector<float> values = {2.0f};
    EXPECT_OK(workers_[1]->SumInRankOrder(values, "step 3, dense gradients"));
  });
  ASSERT_OK(workers_[0]->SumInRankOrder(values_, "step 3, dense gradients"));
  EXPECT_EQ(values_[0], 3.0f);
  EXPECT_GE(dialer.looks(), 2);
}

TEST_F(WaitingForRoomTest, WhoeverDoesNotComeThenIsNamedAsEver) {
  BusyDialer dialer(/*busy_looks=*/2);
  const WaitingForRoom waiting(*workers_[0], client_, dialer, clock_);
  const Status status = workers_[0]->SumInRankOrder(values_, "step 3, dense gradients");
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(), HasSubstr("worker 1 (rank 1 on thread) did not come within 20 ms"));
  EXPECT_EQ(dialer.looks(), 3) << "two were busy, the third not";
}

TEST_F(WaitingForRoomTest, EndsWithItself) {
  BusyDialer dialer(/*busy_looks=*/1000);
  { const WaitingForRoom waiting(*workers_[0], client_, dialer, clock_); }
  EXPECT_EQ(workers_[0]->SumInRankOrder(values_, "step 3").code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(dialer.looks(), 0);
}

}  // namespace
}  // namespace rowhouse
