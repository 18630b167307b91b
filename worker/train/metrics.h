// Metrics of a binary classifier over a set of samples, in f64 (tests/vectors/metrics.json).
//
// Degenerate sets: shares without a denominator are 0, as scikit-learn reports them (precision
// when nothing is predicted positive, recall without positives, F1 of two zeros). Ranking metrics
// that do not exist are NaN: ROC AUC without both classes, average precision without positives.
// Soft labels (neither 0 nor 1) leave only accuracy and logloss; all others are NaN. Of no samples
// at all, and of scores among which there is a NaN, every metric is NaN: a model that diverged must
// not look as if it had been measured.
#pragma once

#include <limits>
#include <span>

namespace rowhouse {

struct Metrics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double accuracy = kNone;           // share of RoundHalfEven(score) == label; 0.5 counts as 0
  double roc_auc = kNone;            // a pair of equal scores counts one half
  double logloss = kNone;            // mean of -(t log p + (1 - t) log(1 - p)), logs >= -100
  double precision = kNone;          // of the samples rounded to 1, the share labelled 1
  double recall = kNone;             // of the samples labelled 1, the share rounded to 1
  double f1 = kNone;                 // harmonic mean of the two
  double average_precision = kNone;  // sum over distinct scores of (R_k - R_{k-1}) * P_k
};

// Takes n log n time and 8 bytes a sample. The order of the samples changes logloss in its last
// bits and nothing else. Requires labels.size() == scores.size(), scores in [0, 1] or NaN.
Metrics ComputeMetrics(std::span<const float> labels, std::span<const float> scores);

}  // namespace rowhouse
