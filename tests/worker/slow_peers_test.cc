#include "worker/train/slow_peers.h"

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

}  // namespace
}  // namespace rowhouse
