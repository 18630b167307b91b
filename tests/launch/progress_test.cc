// What a run prints while it trains. Time is the test's.
#include "launch/run/progress.h"

#include "common/clock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class PrintedProgress : public testing::Test {
 protected:
  // What steps 1 to `steps` of 1,000 print, 100 ms and 50 samples each, of a loss of 0.5.
  std::string Steps(ProgressOptions options, uint64_t steps) {
    Progress progress(options, clock_);
    testing::internal::CaptureStdout();
    for (uint64_t s = 1; s <= steps; ++s) {
      progress.OnStep({.steps_done = s,
                       .last_step = 1000,
                       .samples = 50,
                       .loss_sum = 12.5,
                       .loss_samples = 25});
      clock_.Advance(100);
    }
    return testing::internal::GetCapturedStdout();
  }

  ManualClock clock_;
};

TEST_F(PrintedProgress, OfALogIsALineEveryTenSeconds) {
  const std::string printed = Steps({.describe_shards = [] { return "hits 98.1 %"; }}, 250);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 2) << printed;
  EXPECT_THAT(printed,
              ContainsRegex("^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]  step 101 of 1000 \\(10 %\\)  "
                            "500 samples/s  loss 0.5000  hits 98.1 %  1:30 left\n"));
  EXPECT_THAT(printed, HasSubstr("step 201 of 1000 (20 %)"));
}

TEST_F(PrintedProgress, OfATerminalIsOneLineThatIsRewritten) {
  const std::string printed = Steps({.is_terminal = true}, 501);
  EXPECT_EQ(printed.find('\n'), std::string::npos);
  EXPECT_THAT(printed, HasSubstr("\r\033[K[==========>         ] 50 %  step 501 of 1000  "
                                 "500 samples/s  loss 0.5000  0:50 left"));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\r'), 250) << "every second step";
}

TEST_F(PrintedProgress, OfOtherRanksIsNothing) { EXPECT_EQ(Steps({.prints = false}, 300), ""); }

TEST_F(PrintedProgress, AWorkerWithoutSamplesHasNoLoss) {
  Progress progress({}, clock_);
  testing::internal::CaptureStdout();
  progress.OnStep({.steps_done = 1, .last_step = 4, .samples = 1});
  clock_.Advance(10000);
  progress.OnStep({.steps_done = 2, .last_step = 4, .samples = 1});
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::Not(HasSubstr("loss")));
}

TEST_F(PrintedProgress, DlrmsLineHasTheTimeOfAStepWithoutItsData) {
  Progress progress({}, clock_);
  testing::internal::CaptureStdout();
  progress.OnProgress({.epoch = 0,
                       .step_of_epoch = 3,
                       .steps_per_epoch = 10,
                       .step = 3,
                       .loss = 0.25,
                       .samples = 96,
                       .seconds = 0.75,
                       .data_seconds = 0.15,
                       .steps = 3});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "Finished training it 3/10 of epoch 0, 200.00 ms/it, loss 0.250000\n");
}

TEST_F(PrintedProgress, PredictionsThatAreAllEqualAreWarnedOf) {
  EXPECT_EQ(WarningOfOnlyPrediction({.step = 1, .samples = 8}), "");
  EXPECT_THAT(WarningOfOnlyPrediction({.step = 1, .samples = 8, .only_prediction = 1.0f}),
              HasSubstr("predicts 1 for each of the 8 test samples"));
}

}  // namespace
}  // namespace rowhouse
