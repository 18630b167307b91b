#include "worker/data/score_tally.h"

#include <cmath>
#include <random>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct TalliedSamples {
  std::vector<float> labels, scores;
};

// Clicks of a rate of some percent, drawn by their scores.
TalliedSamples DrawTallied(size_t count) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  TalliedSamples samples;
  for (size_t i = 0; i < count; ++i) {
    const double p = 1.0 / (1.0 + std::exp(3.0 - normal(random)));
    samples.scores.push_back(static_cast<float>(p));
    samples.labels.push_back(uniform(random) < p ? 1.0f : 0.0f);
  }
  return samples;
}

// In pieces of unequal sizes.
ScoreTally TallyOf(const TalliedSamples& samples, uint64_t exact_samples) {
  ScoreTally tally(exact_samples);
  for (size_t first = 0, count = 1; first < samples.labels.size(); first += count, count += 977) {
    const size_t some = std::min(count, samples.labels.size() - first);
    tally.Add(std::span(samples.labels).subspan(first, some),
              std::span(samples.scores).subspan(first, some));
  }
  return tally;
}

TEST(ScoreTally, OfFewSamplesIsExact) {
  const TalliedSamples samples = DrawTallied(5000);
  const ScoreTally tally = TallyOf(samples, 5000);
  EXPECT_TRUE(tally.is_exact());
  const Metrics want = ComputeMetrics(samples.labels, samples.scores);
  EXPECT_EQ(tally.metrics().roc_auc, want.roc_auc);
  EXPECT_EQ(tally.metrics().logloss, want.logloss);
  EXPECT_EQ(tally.auc_error(), 0.0);
  EXPECT_EQ(tally.mean_score(), MeanOf(samples.scores));
  EXPECT_EQ(tally.CalibrationByScore(10).size(), 10u);
}

TEST(ScoreTally, OfManySamplesIsWithinTheErrorThatItTells) {
  const TalliedSamples samples = DrawTallied(300'000);
  const ScoreTally tally = TallyOf(samples, 1000);
  EXPECT_FALSE(tally.is_exact());
  EXPECT_EQ(tally.samples(), 300'000u);
  const Metrics want = ComputeMetrics(samples.labels, samples.scores), got = tally.metrics();
  EXPECT_GT(tally.auc_error(), 0.0);
  EXPECT_LT(tally.auc_error(), 1e-4);
  EXPECT_LE(std::abs(got.roc_auc - want.roc_auc), tally.auc_error());
  EXPECT_NEAR(got.average_precision, want.average_precision, 1e-4);
  EXPECT_DOUBLE_EQ(got.logloss, want.logloss);
  EXPECT_EQ(got.accuracy, want.accuracy);
  EXPECT_EQ(got.precision, want.precision);
  EXPECT_EQ(got.recall, want.recall);
  EXPECT_EQ(got.f1, want.f1);
  EXPECT_DOUBLE_EQ(tally.mean_label(), MeanOf(samples.labels));
  const std::vector<CalibrationBin> parts = tally.CalibrationByScore(10);
  const std::vector<CalibrationBin> exact = CalibrationByScore(samples.labels, samples.scores, 10);
  ASSERT_EQ(parts.size(), 10u);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(parts[i].samples), 30'000.0, 200.0);
    EXPECT_NEAR(parts[i].mean_score, exact[i].mean_score, 1e-3);
    EXPECT_NEAR(parts[i].mean_label, exact[i].mean_label, 2e-3);
  }
}

TEST(ScoreTally, EqualScoresAreNoError) {
  TalliedSamples samples;
  for (int i = 0; i < 1000; ++i) {
    samples.labels.push_back(i % 3 == 0 ? 1.0f : 0.0f);
    samples.scores.push_back(i % 2 == 0 ? 0.25f : 1.0f);
  }
  const ScoreTally tally = TallyOf(samples, 10);
  EXPECT_EQ(tally.auc_error(), 0.0);
  EXPECT_EQ(tally.metrics().roc_auc, ComputeMetrics(samples.labels, samples.scores).roc_auc);
}

TEST(ScoreTally, CurvesAreThoseOfTheMetrics) {
  const TalliedSamples samples = DrawTallied(20'000);
  for (const uint64_t exact_samples : {20'000u, 100u}) {
    const ScoreTally tally = TallyOf(samples, exact_samples);
    const std::vector<CurvePoint> curve = tally.Curve(100);
    EXPECT_LE(curve.size(), 200u);
    EXPECT_GT(curve.size(), 100u);
    EXPECT_EQ(curve.back().true_positive_rate, 1.0);
    EXPECT_EQ(curve.back().false_positive_rate, 1.0);
    EXPECT_DOUBLE_EQ(curve.back().precision, tally.mean_label());
    double area = 0.0;
    CurvePoint before;
    for (const CurvePoint& point : curve) {
      area += (point.false_positive_rate - before.false_positive_rate) *
              (point.true_positive_rate + before.true_positive_rate) / 2.0;
      before = point;
    }
    EXPECT_NEAR(area, tally.metrics().roc_auc, 1e-3);
    // At a threshold: counted by hand.
    const CurvePoint& middle = curve[curve.size() / 2];
    double above = 0.0, positives_above = 0.0, positives = 0.0;
    for (size_t i = 0; i < samples.scores.size(); ++i) {
      positives += samples.labels[i];
      if (samples.scores[i] < static_cast<float>(middle.threshold)) continue;
      above += 1.0;
      positives_above += samples.labels[i];
    }
    EXPECT_DOUBLE_EQ(middle.precision, positives_above / above);
    EXPECT_DOUBLE_EQ(middle.true_positive_rate, positives_above / positives);
  }
  EXPECT_TRUE(TallyOf({.labels = {1, 1}, .scores = {0.5f, 0.75f}}, 10).Curve(100).empty());
}

TEST(ScoreTally, SoftLabelsHaveNoOrder) {
  const ScoreTally tally = TallyOf({.labels = {0.5f, 1, 0}, .scores = {0.5f, 0.75f, 0.1f}}, 1);
  EXPECT_TRUE(std::isnan(tally.metrics().roc_auc));
  EXPECT_TRUE(std::isnan(tally.auc_error()));
  EXPECT_TRUE(tally.Curve(10).empty());
  EXPECT_GT(tally.metrics().logloss, 0.0);
}

}  // namespace
}  // namespace rowhouse
