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

// Walks the groups of equal scores. Requires hard labels; sorts the samples.
void WalkThresholds(std::vector<Scored>* samples, Metrics* metrics) {
  std::sort(samples->begin(), samples->end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  RankSums ranks;
  for (size_t i = 0; i < samples->size();) {
    const float score = (*samples)[i].score;
    double group_positives = 0.0, group_negatives = 0.0;
    for (; i < samples->size() && (*samples)[i].score == score; ++i) {
      ((*samples)[i].label == 1.0f ? group_positives : group_negatives) += 1.0;
    }
    ranks.Add(group_positives, group_negatives);
  }
  ranks.Finish(metrics);
}

}  // namespace

Metrics ComputeMetrics(std::span<const float> labels, std::span<const float> scores) {
  CHECK_EQ(labels.size(), scores.size());
  Metrics metrics;
  if (labels.empty()) return metrics;
  std::vector<Scored> samples;
  samples.reserve(labels.size());
  SampleSums sums;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(scores[i])) return metrics;
    CHECK(scores[i] >= 0.0f && scores[i] <= 1.0f) << "score " << i << " is " << scores[i];
    sums.Add(scores[i], labels[i]);
    samples.push_back({scores[i], labels[i]});
  }
  sums.Finish(&metrics);
  if (sums.has_hard_labels()) WalkThresholds(&samples, &metrics);
  return metrics;
}

void SampleSums::Add(float score, float label) {
  const double p = score, t = label;
  const double rounded = RoundHalfEven(p);
  ++samples_;
  has_hard_labels_ &= label == 0.0f || label == 1.0f;
  right_ += rounded == t ? 1.0 : 0.0;
  loss_ -= t * std::max(std::log(p), -100.0) + (1.0 - t) * std::max(std::log1p(-p), -100.0);
  predicted_ += rounded;
  labelled_ += t;
  both_ += rounded * t;
}

void SampleSums::Finish(Metrics* metrics) const {
  const auto count = static_cast<double>(samples_);
  metrics->accuracy = right_ / count;
  metrics->logloss = loss_ / count;
  if (!has_hard_labels_) return;
  // At the threshold one half.
  metrics->precision = Share(both_, predicted_);
  metrics->recall = Share(both_, labelled_);
  metrics->f1 =
      Share(2.0 * metrics->precision * metrics->recall, metrics->precision + metrics->recall);
}

void RankSums::Add(double positives, double negatives) {
  ordered_pairs_ += negatives * (positives_ + positives / 2.0);
  positives_ += positives;
  negatives_ += negatives;
  precision_area_ += positives * positives_ / (positives_ + negatives_);
}

void RankSums::Finish(Metrics* metrics) const {
  if (positives_ > 0.0) metrics->average_precision = precision_area_ / positives_;
  if (positives_ > 0.0 && negatives_ > 0.0)
    metrics->roc_auc = ordered_pairs_ / positives_ / negatives_;
}

}  // namespace rowhouse
