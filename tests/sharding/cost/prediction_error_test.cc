// Errors of predictions: the published definition, and its corners.
#include "sharding/lab/cost/prediction_error.h"

#include <cmath>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(PredictionErrorTest, IsAsInTheVectors) {
  const auto want = LoadVectors("perf_model.json")["error_metrics"];
  const auto predicted = want["predicted"].get<std::vector<double>>();
  const auto measured = want["measured"].get<std::vector<double>>();
  const PredictionError exact = ErrorOf(predicted, measured, 0);
  EXPECT_DOUBLE_EQ(exact.gmae, want["gmae"].get<double>());
  EXPECT_DOUBLE_EQ(exact.mean, want["mean"].get<double>());
  EXPECT_DOUBLE_EQ(exact.deviation, want["std_sample"].get<double>());
  EXPECT_DOUBLE_EQ(ErrorOf(predicted, measured).gmae, want["gmae_eps_4e4"].get<double>());
}

TEST(PredictionErrorTest, NinetiethPercentileLeavesOneOfTenAbove) {
  std::vector<double> predicted, measured(10, 100.0);
  for (int i = 1; i <= 10; ++i) predicted.push_back(100.0 - i);
  const PredictionError ten = ErrorOf(predicted, measured);
  EXPECT_DOUBLE_EQ(ten.p90, 0.09);
  EXPECT_DOUBLE_EQ(ten.largest, 0.10);
  predicted.push_back(150);
  measured.push_back(100);
  EXPECT_DOUBLE_EQ(ErrorOf(predicted, measured).p90, 0.10);  // 10 of 11 do not exceed it
}

TEST(PredictionErrorTest, OneExactPredictionDoesNotMakeTheMeanNothing) {
  const std::vector<double> predicted = {10, 12}, measured = {10, 10};
  EXPECT_NEAR(ErrorOf(predicted, measured).gmae, std::sqrt(kErrorFloor * (0.2 + kErrorFloor)),
              1e-12);
}

TEST(PredictionErrorTest, NothingMeasuredIsNoErrorOnlyIfNothingWasPredicted) {
  EXPECT_EQ(RelativeError(0, 0), 0);
  EXPECT_TRUE(std::isinf(RelativeError(1, 0)));
  EXPECT_EQ(ErrorOf({}, {}).count, 0u);
  const std::vector<double> one = {2.0};
  EXPECT_EQ(ErrorOf(one, one).deviation, 0);
}

}  // namespace
}  // namespace rowhouse
