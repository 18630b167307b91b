#include "launch/run/early_stop.h"

#include <gtest/gtest.h>

#include <limits>

namespace rowhouse {
namespace {

RunReport::Evaluation Validated(uint64_t step, std::optional<double> auc, double logloss) {
  return {.step = step, .samples = 10, .auc = auc, .logloss = logloss};
}

TEST(EarlyStop, EndsAfterAsManyValidationsWithoutABetterOne) {
  EarlyStop stop("auc", 2);
  EXPECT_FALSE(stop.best());
  EXPECT_TRUE(stop.Take(Validated(1, 0.6, 0.5)));
  EXPECT_FALSE(stop.Take(Validated(2, 0.6, 0.4))) << "an equal one is no better";
  EXPECT_FALSE(stop.is_over());
  EXPECT_TRUE(stop.Take(Validated(3, 0.7, 0.6)));
  EXPECT_FALSE(stop.Take(Validated(4, 0.5, 0.3)));
  EXPECT_FALSE(stop.is_over());
  EXPECT_FALSE(stop.Take(Validated(5, 0.69, 0.3)));
  EXPECT_TRUE(stop.is_over());
  EXPECT_EQ(stop.best()->step, 3u);
}

TEST(EarlyStop, ByLoglossLessIsBetter) {
  EarlyStop stop("logloss", 1);
  EXPECT_TRUE(stop.Take(Validated(1, 0.6, 0.5)));
  EXPECT_TRUE(stop.Take(Validated(2, 0.5, 0.4)));
  EXPECT_FALSE(stop.Take(Validated(3, 0.9, 0.45)));
  EXPECT_TRUE(stop.is_over());
}

TEST(EarlyStop, AMetricThatDoesNotExistIsNeverBestAndWithoutPatienceItGoesOn) {
  EarlyStop stop("auc", 0);
  EXPECT_FALSE(stop.Take(Validated(1, std::nullopt, 0.5)));
  EXPECT_FALSE(stop.best());
  EXPECT_TRUE(stop.Take(Validated(2, 0.5, 0.5)));
  EXPECT_FALSE(stop.Take(Validated(3, std::nullopt, 0.1)));
  EXPECT_FALSE(stop.is_over());
  EarlyStop by_logloss("logloss", 0);
  EXPECT_FALSE(by_logloss.Take(Validated(1, 0.5, std::numeric_limits<double>::quiet_NaN())));
}

TEST(EarlyStop, CutsTheRateAgainAfterAsManyValidationsAsTheFirstTime) {
  EarlyStop stop("auc", 0, 2);
  const auto cuts_after = [&](uint64_t step, double auc) {
    stop.Take(Validated(step, auc, 0.5));
    return stop.cuts();
  };
  EXPECT_EQ(cuts_after(1, 0.6), 0u);
  EXPECT_EQ(cuts_after(2, 0.5), 0u);
  EXPECT_EQ(cuts_after(3, 0.6), 1u) << "an equal one is no better";
  EXPECT_EQ(cuts_after(4, 0.6), 1u);
  EXPECT_EQ(cuts_after(5, 0.7), 1u) << "a better one begins to count again";
  EXPECT_EQ(cuts_after(6, 0.6), 1u);
  EXPECT_EQ(cuts_after(7, 0.6), 2u);
  EXPECT_EQ(cuts_after(8, 0.6), 2u);
  EXPECT_EQ(cuts_after(9, 0.6), 3u);
  EXPECT_FALSE(stop.is_over());
}

}  // namespace
}  // namespace rowhouse
