// ScoreTally: what `rowhouse eval` says of scores and labels: metrics, calibration and curves, of
// any number of samples in bounded memory.
//
// Up to a number of samples it keeps all of them, and all is exact. Beyond, it counts samples by
// their scores' first bits (Fawcett, 2006, "An introduction to ROC analysis", walks thresholds in
// the same way): each power of two has 8192 bins, 1,040,385 in all. What samples sum up to
// (logloss, accuracy, means) stays exact. The order of two samples in one bin is lost. So the ROC
// AUC is off by at most half of the pairs that share a bin and differ in their labels, and
// auc_error says that number. Average precision and curves take a bin's samples as if they had one
// score, and a bin is not divided between two parts of the calibration. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/data/metrics.h"
#include "worker/data/score_quality.h"

namespace rowhouse {

// Of the samples whose score is `threshold` or more, as scored 1.
struct CurvePoint {
  double threshold = 0.0;
  double true_positive_rate = 0.0;  // which is the recall
  double false_positive_rate = 0.0;
  double precision = 0.0;
};

class ScoreTally {
 public:
  // 8 bytes a sample: 400 MB. The bins take 42 MB.
  static constexpr uint64_t kExactSamples = 50'000'000;
  explicit ScoreTally(uint64_t exact_samples = kExactSamples) : exact_samples_(exact_samples) {}

  // Requires spans of one size, scores in [0, 1].
  void Add(std::span<const float> labels, std::span<const float> scores);

  uint64_t samples() const { return sums_.samples(); }
  bool is_exact() const { return bins_.empty(); }

  // As ComputeMetrics.
  Metrics metrics() const;
  // The most that the ROC AUC can be off; 0 if it is exact, NaN where there is none.
  double auc_error() const;
  double mean_score() const { return score_sum_ / static_cast<double>(samples()); }
  double mean_label() const { return label_sum_ / static_cast<double>(samples()); }
  // As worker/data/score_quality.h's.
  std::vector<CalibrationBin> CalibrationByScore(size_t parts) const;
  // Of the ROC and of the precision-recall curve, by falling threshold: the first point at or past
  // each of `points` equal parts of either rate, so 2 x points at most; the last has rates of 1.
  // Without both classes, or with soft labels: none.
  std::vector<CurvePoint> Curve(size_t points) const;

 private:
  struct Bin {
    uint64_t samples = 0;
    double label_sum = 0.0, score_sum = 0.0;
    float first_score = 0.0f;
    bool has_others = false;  // scores that are not the first

    void Add(float label, float score);
  };
  static size_t BinOf(float score);
  void Count(std::span<const float> labels, std::span<const float> scores);
  // The samples of each score, of 32 bits or of a bin, by falling score.
  std::vector<Bin> Steps() const;

  const uint64_t exact_samples_;
  SampleSums sums_;
  double score_sum_ = 0.0, label_sum_ = 0.0;
  std::vector<float> labels_, scores_;  // while exact
  std::vector<Bin> bins_;               // afterwards, by rising score
};

}  // namespace rowhouse
