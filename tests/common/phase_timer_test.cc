#include "common/phase_timer.h"

#include <gtest/gtest.h>

namespace rowhouse {
namespace {

enum class Phase { kRead, kWrite, kCount };

TEST(PhaseTimer, CountsTheTimeUpToItsEndForAPhase) {
  ManualClock clock;
  PhaseTimer<Phase> timer(clock);
  clock.Advance(3);
  timer.End(Phase::kRead);
  clock.Advance(10);
  timer.End(Phase::kWrite);
  clock.Advance(4);
  timer.End(Phase::kRead);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kRead), 0.007);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kWrite), 0.010);
}

TEST(PhaseTimer, TimeBeforeARestartCountsForNoPhase) {
  ManualClock clock;
  PhaseTimer<Phase> timer(clock);
  clock.Advance(3);
  timer.Restart();
  clock.Advance(1);
  timer.End(Phase::kWrite);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kWrite), 0.001);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kRead), 0.0);
}

}  // namespace
}  // namespace rowhouse
