#include "worker/data/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

Metrics Of(const std::vector<float>& labels, const std::vector<float>& scores) {
  return ComputeMetrics(labels, scores);
}

TEST(Metrics, AreTheDefinitions) {
  const auto cases = LoadVectors("metrics.json")["cases"];
  ASSERT_GE(cases.size(), 6u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c["kind"].get<std::string>());
    const Metrics got =
        Of(c["labels"].get<std::vector<float>>(), c["scores"].get<std::vector<float>>());
    EXPECT_NEAR(got.accuracy, c["accuracy"].get<double>(), 1e-12);
    EXPECT_NEAR(got.average_precision, c["average_precision"].get<double>(), 1e-12);
    EXPECT_NEAR(got.precision, c["precision"].get<double>(), 1e-12);
    EXPECT_NEAR(got.recall, c["recall"].get<double>(), 1e-12);
    EXPECT_NEAR(got.f1, c["f1"].get<double>(), 1e-12);
    if (c["roc_auc"].is_null()) {
      EXPECT_TRUE(std::isnan(got.roc_auc));
    } else {
      EXPECT_NEAR(got.roc_auc, c["roc_auc"].get<double>(), 1e-12);
    }
    // The vectors' scores are doubles and ours floats: 1e-6 apart. Null: a score of exactly 0 or 1.
    if (!c["bce"].is_null()) {
      EXPECT_NEAR(got.logloss, c["bce"].get<double>(), 1e-6);
    }
  }
}

TEST(Metrics, LogsAreClampedSoThatASureMistakeCosts100) {
  EXPECT_DOUBLE_EQ(Of({0, 1}, {1, 1}).logloss, 50.0);
  EXPECT_DOUBLE_EQ(Of({1, 1}, {0, 1}).logloss, 50.0);
}

TEST(Metrics, ExactlyOneHalfCountsAsZero) {
  EXPECT_EQ(Of({0, 1}, {0.5f, 0.5f}).accuracy, 0.5);
  EXPECT_EQ(Of({0, 1}, {0.5f, 0.5f}).recall, 0.0);
}

TEST(Metrics, EqualScoresCountOneHalfEach) {
  EXPECT_EQ(Of({1, 0, 1, 0}, {0.3f, 0.3f, 0.3f, 0.3f}).roc_auc, 0.5);
  // Pairs: (.3 against .3) one half, (.3 against .1) one.
  EXPECT_EQ(Of({1, 0, 0}, {0.3f, 0.3f, 0.1f}).roc_auc, 0.75);
}

TEST(Metrics, WithoutPositivesRankingMetricsDoNotExist) {
  const Metrics got = Of({0, 0}, {0.2f, 0.9f});
  EXPECT_TRUE(std::isnan(got.roc_auc));
  EXPECT_TRUE(std::isnan(got.average_precision));
  EXPECT_EQ(got.accuracy, 0.5);
  EXPECT_EQ(got.precision, 0.0);
  EXPECT_EQ(got.recall, 0.0);
  EXPECT_EQ(got.f1, 0.0);
}

TEST(Metrics, SoftLabelsLeaveAccuracyAndLogloss) {
  const Metrics got = Of({0.25f}, {0.25f});
  EXPECT_EQ(got.accuracy, 0.0);
  EXPECT_DOUBLE_EQ(got.logloss, -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)));
  EXPECT_TRUE(std::isnan(got.roc_auc));
  EXPECT_TRUE(std::isnan(got.precision));
}

TEST(Metrics, ANanAmongTheScoresOrNoSamplesMeansNoMetrics) {
  EXPECT_TRUE(std::isnan(Of({1, 0}, {NAN, 0.1f}).accuracy));
  EXPECT_TRUE(std::isnan(Of({1, 0}, {NAN, 0.1f}).roc_auc));
  EXPECT_TRUE(std::isnan(Of({}, {}).accuracy));
}

// Against the definition, pair by pair. Few distinct scores, so that there are many ties.
RC_GTEST_PROP(MetricsProperty, RocAucIsTheShareOfOrderedPairs, ()) {
  const auto size = *rc::gen::inRange<size_t>(2, 60);
  const auto label = rc::gen::map(rc::gen::inRange(0, 2), [](int l) { return float(l); });
  const auto score = rc::gen::map(rc::gen::inRange(0, 9), [](int s) { return float(s) / 8.0f; });
  auto labels = *rc::gen::container<std::vector<float>>(size, label);
  const auto scores = *rc::gen::container<std::vector<float>>(size, score);
  labels[0] = 0.0f;
  labels[1] = 1.0f;

  double ordered = 0.0, pairs = 0.0;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      if (labels[i] != 1.0f || labels[j] != 0.0f) continue;
      pairs += 1.0;
      ordered += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
    }
  }
  RC_ASSERT(std::abs(Of(labels, scores).roc_auc - ordered / pairs) < 1e-12);
}

}  // namespace
}  // namespace rowhouse
