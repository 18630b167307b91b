#include "worker/data/score_quality.h"

#include <cmath>

#include "tests/testing/testing.h"
#include "worker/data/metrics.h"

namespace rowhouse {
namespace {

TEST(NormalisedEntropy, IsTheLoglossOverThatOfTheMean) {
  const double of_mean = -(0.25 * std::log(0.25) + 0.75 * std::log(0.75));
  EXPECT_DOUBLE_EQ(NormalisedEntropy(of_mean, 0.25), 1.0);
  EXPECT_DOUBLE_EQ(NormalisedEntropy(0.5 * of_mean, 0.25), 0.5);
  EXPECT_TRUE(std::isnan(NormalisedEntropy(0.1, 0.0)));
  EXPECT_TRUE(std::isnan(NormalisedEntropy(0.1, 1.0)));
}

TEST(CalibrationByScore, PartsAreNearlyEqualAndAscending) {
  const std::vector<float> scores = {0.75f, 0.25f, 0.5f, 0.5f, 0.0f};
  const std::vector<float> labels = {1, 0, 1, 0, 0};
  const std::vector<CalibrationBin> two = CalibrationByScore(labels, scores, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].samples, 2u);
  EXPECT_DOUBLE_EQ(two[0].mean_score, 0.125);
  EXPECT_DOUBLE_EQ(two[0].mean_label, 0.0);
  EXPECT_EQ(two[1].samples, 3u);
  EXPECT_DOUBLE_EQ(two[1].mean_score, 1.75 / 3);
  EXPECT_DOUBLE_EQ(two[1].mean_label, 2.0 / 3);
  EXPECT_EQ(CalibrationByScore(labels, scores, 10).size(), 5u);
  EXPECT_TRUE(CalibrationByScore({}, {}, 10).empty());
}

TEST(GroupedAuc, GroupsCountByTheirSamples) {
  GroupedAuc grouped;
  const auto add = [&](uint64_t group, std::vector<std::pair<float, float>> label_and_score) {
    for (const auto& [label, score] : label_and_score) grouped.Add(group, label, score);
  };
  add(7, {{1, 0.9f}, {0, 0.1f}});                         // AUC 1
  add(1, {{1, 0.1f}, {0, 0.9f}, {0, 0.05f}, {1, 0.8f}});  // AUC 0.5
  add(3, {{1, 0.3f}, {1, 0.4f}});                         // none
  const GroupedAuc::Result result = grouped.Of();
  EXPECT_DOUBLE_EQ(result.auc, (1.0 * 2 + 0.5 * 4) / 6);
  EXPECT_EQ(result.groups, 2u);
  EXPECT_EQ(result.samples, 6u);
  EXPECT_EQ(result.groups_left_out, 1u);
  EXPECT_TRUE(std::isnan(GroupedAuc().Of().auc));
}

}  // namespace
}  // namespace rowhouse
