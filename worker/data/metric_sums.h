// What worker/data/metrics.h's metrics are summed up from, for samples that are not in memory
// together. Threads: one.
#pragma once

#include <cstdint>

#include "worker/data/metrics.h"

namespace rowhouse {

// All metrics but those of the order. Requires as ComputeMetrics, but no NaN.
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

// ROC AUC and average precision of hard labels, of groups of samples from the highest score down.
class RankSums {
 public:
  // Samples of one score: so many labelled 1, and 0.
  void Add(double positives, double negatives);
  void Finish(Metrics* metrics) const;

 private:
  double positives_ = 0.0, negatives_ = 0.0;
  double ordered_pairs_ = 0.0;   // positive above negative, equal ones half
  double precision_area_ = 0.0;  // average precision times the number of positives
};

}  // namespace rowhouse
