// What a run prints while it trains. Time is the test's.
#include "launch/report/progress.h"

#include "common/clock.h"
#include "tests/testing/manual_clock.h"
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

// A test after each of two halves: the loss of training falls from 0.6 to 0.3.
TEST_F(PrintedProgress, TestsThatGetWorseWhileTheLossFallsAreToldOnce) {
  const auto warned = [&](double second_auc, double second_logloss, double second_loss) {
    Progress progress({}, clock_);
    testing::internal::CaptureStdout();
    const auto half = [&](uint64_t step, double loss, double auc, double logloss) {
      progress.OnStep(
          {.steps_done = step, .last_step = 9, .samples = 1, .loss_sum = loss, .loss_samples = 1});
      Evaluation evaluation{.step = step, .samples = 8, .metrics = {}};
      evaluation.metrics.roc_auc = auc;
      evaluation.metrics.logloss = logloss;
      progress.OnEvaluation(evaluation);
    };
    half(1, 0.6, 0.77, 0.40);
    half(2, second_loss, second_auc, second_logloss);
    half(3, second_loss, second_auc, second_logloss);
    const std::string out = testing::internal::GetCapturedStdout();
    const size_t first = out.find("note: tests get worse (AUC 0.7500, at step 1 it was 0.7700)");
    EXPECT_EQ(out.rfind("note: tests get worse"), first);
    return first != std::string::npos;
  };
  EXPECT_TRUE(warned(0.75, 0.45, 0.3));
  EXPECT_FALSE(warned(0.75, 0.45, 0.7)) << "the loss rises, too";
  EXPECT_FALSE(warned(0.78, 0.45, 0.3));
  EXPECT_FALSE(warned(0.7695, 0.45, 0.3)) << "noise";
}

TEST_F(PrintedProgress, PredictionsThatAreAllEqualAreWarnedOf) {
  EXPECT_EQ(WarningOfOnlyPrediction({.step = 1, .samples = 8}), "");
  EXPECT_THAT(WarningOfOnlyPrediction({.step = 1, .samples = 8, .only_prediction = 1.0f}),
              HasSubstr("predicts 1 for each of the 8 test samples"));
}

}  // namespace
}  // namespace rowhouse
