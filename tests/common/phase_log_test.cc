#include "common/phase_log.h"

#include <gtest/gtest.h>

#include "tests/testing/manual_clock.h"

namespace rowhouse {
namespace {

std::vector<PhaseKind> TwoKinds() {
  return {{.name = "work", .amounts = {"rows"}}, {.name = "wait/long"}};
}

TEST(PhaseLog, CountsTheTimeUpToItsEndForAPhase) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  clock.Advance(3);
  log.End(0, 5);
  clock.Advance(4);
  log.End(1);
  clock.Advance(1);
  log.End(0, 2);
  EXPECT_EQ(log.seconds(0), 0.004);
  EXPECT_EQ(log.seconds_of("wait"), 0.004);
  EXPECT_EQ(log.total(0).amounts[0], 7u);
  EXPECT_EQ(log.total(0).times, 2u);
  EXPECT_TRUE(log.Record().spans.empty()) << "nobody asked for them";
}

TEST(PhaseLog, TimeBeforeARestartCountsForNoPhase) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  clock.Advance(3);
  log.Restart();
  clock.Advance(2);
  log.End(1);
  EXPECT_EQ(log.seconds(1), 0.002);
}

TEST(PhaseLog, WhatIsSuspendedIsOnePhase) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  log.Suspend();
  clock.Advance(3);
  log.End(0);
  clock.Advance(2);
  log.Resume(1);
  EXPECT_EQ(log.seconds(0), 0.0);
  EXPECT_EQ(log.seconds(1), 0.005);
}

TEST(PhaseLog, ASharedTimeIsDivided) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  clock.Advance(8);
  log.EndTwo(0, 1, 0.25, 3);
  EXPECT_EQ(log.seconds(0), 0.002);
  EXPECT_EQ(log.seconds(1), 0.006);
}

TEST(PhaseLog, SpansOfLongRunsAreTheFirstAndTheLast) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  log.KeepSpans();
  constexpr uint64_t kSteps = PhaseLog::kMaxSpans + 100;
  for (uint64_t step = 0; step < kSteps; ++step) {
    log.set_step(step);
    clock.Advance(1);
    log.End(0, 1);
  }
  const PhaseRecord record = log.Record();
  ASSERT_EQ(record.spans.size(), PhaseLog::kMaxSpans);
  EXPECT_EQ(record.dropped_spans, 100u);
  EXPECT_EQ(record.spans.front().step, 0u);
  EXPECT_EQ(record.spans.back().step, kSteps - 1);
  for (size_t i = 1; i < record.spans.size(); ++i) {
    ASSERT_GE(record.spans[i].begin, record.spans[i - 1].end);
  }
}

TEST(PhaseLog, AWaitThatIsInterruptedIsOneSpan) {
  ManualClock clock;
  PhaseLog log(clock, TwoKinds());
  log.KeepSpans();
  for (int i = 0; i < 3; ++i) {
    clock.Advance(1);
    log.End(1);
  }
  ASSERT_EQ(log.Record().spans.size(), 1u);
  EXPECT_EQ(log.Record().spans[0].end - log.Record().spans[0].begin, 3 * kNsPerMs);
}

TEST(TurnTimer, FindsTheShareOfTheFirst) {
  ManualClock clock;
  const PhaseLog log(clock, TwoKinds());
  TurnTimer turns(&log);
  for (int i = 0; i < 20; ++i) {
    turns.BeginFirst();
    clock.Advance(1);
    turns.EndFirst();
    clock.Advance(3);
  }
  EXPECT_EQ(turns.share_of_first(), 0.25);
}

}  // namespace
}  // namespace rowhouse
