#include "worker/train/slow_peers.h"

#include "sharding/plans/plan_maker.h"
#include "tests/testing/gathering_communicator.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Of 100 times the second largest is the 99th percentile.
void AddTimes(PeerTimes* times, size_t peer, float usual, float longest, size_t number = 100) {
  for (size_t i = 0; i < number; ++i) times->Add(peer, i < 2 ? longest : usual);
}

TEST(PeerTimes, APeerWhosePercentileIsFarAboveThatOfTheOthersIsSlow) {
  PeerTimes times(4);
  AddTimes(&times, 0, 10, 40);
  AddTimes(&times, 1, 10, 30);
  AddTimes(&times, 2, 10, 151);
  AddTimes(&times, 3, 1, 50);
  const std::optional<PeerTimes::Slow> slow = times.TakeSlowest();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->peer, 2u);
  EXPECT_EQ(slow->p99_ms, 151);
  EXPECT_EQ(slow->others_ms, 40);
  EXPECT_FALSE(times.TakeSlowest()) << "all was taken";
}

TEST(PeerTimes, NobodyIsSlowByALittleByOneTimeOrBesideNobody) {
  PeerTimes times(2);
  AddTimes(&times, 0, 100, 100);
  AddTimes(&times, 1, 100, 299);
  EXPECT_FALSE(times.TakeSlowest()) << "less than three times as long";
  AddTimes(&times, 0, 1, 1);
  AddTimes(&times, 1, 1, 49);
  EXPECT_FALSE(times.TakeSlowest()) << "less than 50 ms longer";
  AddTimes(&times, 0, 1, 1);
  AddTimes(&times, 1, 1, 1, 99);
  times.Add(1, 5000);
  EXPECT_FALSE(times.TakeSlowest()) << "once";
  AddTimes(&times, 1, 500, 500);
  AddTimes(&times, 0, 1, 1, 31);
  EXPECT_FALSE(times.TakeSlowest()) << "too few to compare with";
}

// This is worker 0. What worker 1 tells is that each of its steps took half a second.
class BesideASlowWorker final : public GatheringCommunicator {
 public:
  WorkerRank rank() const override { return WorkerRank{0}; }
  uint32_t size() const override { return 2; }

 protected:
  Result<std::shared_ptr<const Messages>> Gather(std::vector<std::byte> mine,
                                                 const std::string& /*phase*/) override {
    const std::vector<float> others(mine.size() / sizeof(float), 500.0f);
    const auto bytes = std::as_bytes(std::span(others));
    return std::make_shared<const Messages>(Messages{mine, {bytes.begin(), bytes.end()}});
  }
};

TEST(SlowPeers, NameASlowWorkerOnceAMinuteAtMost) {
  ManualClock clock;
  const PsClient client({}, MakeRowWisePlan({}, 1), {ShardAddress{.name = "shard 0"}});
  const StepClock steps(clock, client);
  BesideASlowWorker workers;
  SlowPeers peers(client, steps, workers, clock);
  const auto train = [&] {
    std::string said;
    for (int step = 0; step < 128; ++step) {
      EXPECT_EQ(said, "") << "before the last step";
      said = peers.AfterStep().value();
    }
    return said;
  };
  EXPECT_EQ(train(),
            "note: worker 1 is slow: its own work takes 500 ms a step (p99 of 128 steps), that of "
            "others 0\n");
  EXPECT_EQ(train(), "");
  clock.Advance(60'000);
  EXPECT_THAT(train(), testing::HasSubstr("worker 1 is slow"));
}

}  // namespace
}  // namespace rowhouse
