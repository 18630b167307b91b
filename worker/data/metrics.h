// Metrics of a binary classifier over a set of samples, in double. Definitions are scikit-learn's
// (tests/vectors/metrics.json has its results).
//
// Ratios whose denominator is 0 are 0, as in scikit-learn: precision if no prediction is positive,
// recall without positives, F1 of two zeros. Ranking metrics that do not exist are NaN: ROC AUC
// without both classes, average precision without positives. With soft labels (neither 0 nor 1) all
// metrics but accuracy and logloss are NaN. Without samples, and with a score that is NaN, all are
// NaN.
#pragma once

#include <cstdint>
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

// What metrics are summed up from, for samples that are not in memory together: all but those of
// the order. Threads: one. Requires as ComputeMetrics, but no NaN.
class SampleSums {
 public:
  void Add(float score, float label);
  uint64_t samples() const { return samples_; }
  bool has_hard_labels() const { return has_hard_labels_; }
  // Requires a sample. With soft labels, accuracy and logloss alone.
  void Finish(Metrics* metrics) const;

 private:
  uint64_t samples_ = 0;
  bool has_hard_labels_ = true;
  double right_ = 0.0, loss_ = 0.0;
  double predicted_ = 0.0, labelled_ = 0.0, both_ = 0.0;
};

// The same of the order: ROC AUC and average precision of hard labels, of groups of samples from
// the highest score down.
class RankSums {
 public:
  // Samples of one score: this many labelled 1, and 0.
  void Add(double positives, double negatives);
  void Finish(Metrics* metrics) const;

 private:
  double positives_ = 0.0, negatives_ = 0.0;
  double ordered_pairs_ = 0.0;   // positive above negative, equal ones half
  double precision_area_ = 0.0;  // average precision times the number of positives
};

}  // namespace rowhouse
