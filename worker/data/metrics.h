// Metrics of a binary classifier over a set of samples, in double. Definitions are scikit-learn's
// (tests/vectors/metrics.json has its results).
//
// Ratios whose denominator is 0 are 0, as in scikit-learn: precision if no prediction is positive,
// recall without positives, F1 of two zeros. Ranking metrics that do not exist are NaN: ROC AUC
// without both classes, average precision without positives. With soft labels (neither 0 nor 1) all
// metrics but accuracy and logloss are NaN. Without samples, and with a score that is NaN, all are
// NaN.
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
