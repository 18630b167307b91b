#include "worker/data/score_tally.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace rowhouse {
namespace {

// A float of [0, 1] rises with its bits. Of 23 bits of the fraction 13 are left.
constexpr int kDroppedBits = 10;

}  // namespace

void ScoreTally::Bin::Add(float label, float score) {
  if (samples == 0) first_score = score;
  has_others = has_others || score != first_score;
  ++samples;
  label_sum += label;
  score_sum += score;
}

size_t ScoreTally::BinOf(float score) {
  CHECK(score >= 0.0f && score <= 1.0f) << "a score is " << score;
  return std::bit_cast<uint32_t>(score + 0.0f) >> kDroppedBits;  // -0 is 0
}

void ScoreTally::Add(std::span<const float> labels, std::span<const float> scores) {
  CHECK_EQ(labels.size(), scores.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    sums_.Add(scores[i], labels[i]);
    score_sum_ += scores[i];
    label_sum_ += labels[i];
  }
  if (!is_exact()) return Count(labels, scores);
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  scores_.insert(scores_.end(), scores.begin(), scores.end());
  if (samples() <= exact_samples_) return;
  bins_.resize(BinOf(1.0f) + 1);
  Count(labels_, scores_);
  std::vector<float>().swap(labels_);
  std::vector<float>().swap(scores_);
}

void ScoreTally::Count(std::span<const float> labels, std::span<const float> scores) {
  for (size_t i = 0; i < labels.size(); ++i) bins_[BinOf(scores[i])].Add(labels[i], scores[i]);
}

std::vector<ScoreTally::Bin> ScoreTally::Steps() const {
  std::vector<Bin> steps;
  if (!is_exact()) {
    for (size_t b = bins_.size(); b-- > 0;) {
      if (bins_[b].samples == 0) continue;
      steps.push_back(bins_[b]);
      steps.back().first_score = std::bit_cast<float>(static_cast<uint32_t>(b << kDroppedBits));
    }
    return steps;
  }
  std::vector<size_t> order(scores_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [&](size_t i) { return scores_[i]; });
  for (const size_t i : order) {
    if (steps.empty() || steps.back().first_score != scores_[i]) steps.emplace_back();
    steps.back().Add(labels_[i], scores_[i]);
  }
  return steps;
}

Metrics ScoreTally::metrics() const {
  if (is_exact()) return ComputeMetrics(labels_, scores_);
  Metrics metrics;
  sums_.Finish(&metrics);
  if (!sums_.has_hard_labels()) return metrics;
  RankSums ranks;
  for (const Bin& step : Steps()) {
    ranks.Add(step.label_sum, static_cast<double>(step.samples) - step.label_sum);
  }
  ranks.Finish(&metrics);
  return metrics;
}

double ScoreTally::auc_error() const {
  const double negatives = static_cast<double>(samples()) - label_sum_;
  if (!sums_.has_hard_labels() || label_sum_ == 0.0 || negatives == 0.0) return Metrics::kNone;
  double pairs = 0.0;
  for (const Bin& bin : bins_) {
    if (bin.has_others) {
      pairs += bin.label_sum * (static_cast<double>(bin.samples) - bin.label_sum);
    }
  }
  return pairs / 2.0 / label_sum_ / negatives;
}

std::vector<CalibrationBin> ScoreTally::CalibrationByScore(size_t parts) const {
  if (is_exact()) return rowhouse::CalibrationByScore(labels_, scores_, parts);
  std::vector<CalibrationBin> result;
  uint64_t before = 0;
  for (const Bin& bin : bins_) {
    if (bin.samples == 0) continue;
    // The part that the middle of the bin is in.
    const double middle = static_cast<double>(before) + static_cast<double>(bin.samples) / 2.0;
    const auto part =
        static_cast<size_t>(middle * static_cast<double>(parts) / static_cast<double>(samples()));
    result.resize(std::max(result.size(), part + 1));
    result[part].samples += bin.samples;
    result[part].mean_score += bin.score_sum;
    result[part].mean_label += bin.label_sum;
    before += bin.samples;
  }
  std::erase_if(result, [](const CalibrationBin& part) { return part.samples == 0; });
  for (CalibrationBin& part : result) {
    part.mean_score /= static_cast<double>(part.samples);
    part.mean_label /= static_cast<double>(part.samples);
  }
  return result;
}

std::vector<CurvePoint> ScoreTally::Curve(size_t points) const {
  std::vector<CurvePoint> curve;
  const double positives = label_sum_, negatives = static_cast<double>(samples()) - label_sum_;
  if (!sums_.has_hard_labels() || positives == 0.0 || negatives == 0.0) return curve;
  double true_positives = 0.0, false_positives = 0.0;
  const auto part_of = [points](double rate) {
    return std::floor(rate * static_cast<double>(points));
  };
  double parts = 0.0;  // of both rates, that the last point has
  for (const Bin& step : Steps()) {
    true_positives += step.label_sum;
    false_positives += static_cast<double>(step.samples) - step.label_sum;
    const CurvePoint point = {.threshold = step.first_score,
                              .true_positive_rate = true_positives / positives,
                              .false_positive_rate = false_positives / negatives,
                              .precision = true_positives / (true_positives + false_positives)};
    const double now = part_of(point.true_positive_rate) + part_of(point.false_positive_rate);
    if (now <= parts) continue;
    parts = now;
    curve.push_back(point);
  }
  return curve;
}

}  // namespace rowhouse
