#include "worker/data/metrics.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/rounding.h"

namespace rowhouse {
namespace {

struct Scored {
  float score;
  float label;
};

double Share(double part, double whole) { return whole == 0.0 ? 0.0 : part / whole; }

// The metrics of every sample by itself: accuracy and logloss.
void SumOverSamples(const std::vector<Scored>& samples, Metrics* metrics) {
  double right = 0.0, loss = 0.0;
  for (const auto& [score, label] : samples) {
    const double p = score, t = label;
    right += RoundHalfEven(p) == t ? 1.0 : 0.0;
    loss -= t * std::max(std::log(p), -100.0) + (1.0 - t) * std::max(std::log1p(-p), -100.0);
  }
  const double count = static_cast<double>(samples.size());
  metrics->accuracy = right / count;
  metrics->logloss = loss / count;
}

// The metrics at the threshold one half. Requires hard labels.
void CountAtOneHalf(const std::vector<Scored>& samples, Metrics* metrics) {
  double predicted = 0.0, labelled = 0.0, both = 0.0;
  for (const auto& [score, label] : samples) {
    const double rounded = RoundHalfEven(score);
    predicted += rounded;
    labelled += label;
    both += rounded * label;
  }
  metrics->precision = Share(both, predicted);
  metrics->recall = Share(both, labelled);
  metrics->f1 =
      Share(2.0 * metrics->precision * metrics->recall, metrics->precision + metrics->recall);
}

// The metrics of the order alone: walks the groups of equal scores from the highest down.
// Requires hard labels; sorts the samples.
void WalkThresholds(std::vector<Scored>* samples, Metrics* metrics) {
  std::sort(samples->begin(), samples->end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  double positives = 0.0, negatives = 0.0;  // at or above the threshold
  double ordered_pairs = 0.0;               // positive above negative, equal ones half
  double precision_area = 0.0;              // average precision times the number of positives
  for (size_t i = 0; i < samples->size();) {
    const float score = (*samples)[i].score;
    double group_positives = 0.0, group_negatives = 0.0;
    for (; i < samples->size() && (*samples)[i].score == score; ++i) {
      ((*samples)[i].label == 1.0f ? group_positives : group_negatives) += 1.0;
    }
    ordered_pairs += group_negatives * (positives + group_positives / 2.0);
    positives += group_positives;
    negatives += group_negatives;
    precision_area += group_positives * positives / (positives + negatives);
  }
  if (positives > 0.0) metrics->average_precision = precision_area / positives;
  if (positives > 0.0 && negatives > 0.0) metrics->roc_auc = ordered_pairs / positives / negatives;
}

}  // namespace

Metrics ComputeMetrics(std::span<const float> labels, std::span<const float> scores) {
  CHECK_EQ(labels.size(), scores.size());
  Metrics metrics;
  if (labels.empty()) return metrics;
  std::vector<Scored> samples;
  samples.reserve(labels.size());
  bool hard_labels = true;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(scores[i])) return metrics;
    CHECK(scores[i] >= 0.0f && scores[i] <= 1.0f) << "score " << i << " is " << scores[i];
    hard_labels &= labels[i] == 0.0f || labels[i] == 1.0f;
    samples.push_back({scores[i], labels[i]});
  }
  SumOverSamples(samples, &metrics);
  if (!hard_labels) return metrics;
  CountAtOneHalf(samples, &metrics);
  WalkThresholds(&samples, &metrics);
  return metrics;
}

}  // namespace rowhouse
