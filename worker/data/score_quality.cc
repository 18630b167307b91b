#include "worker/data/score_quality.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "worker/data/metrics.h"

namespace rowhouse {

double MeanOf(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double NormalisedEntropy(double logloss, double mean_label) {
  if (!(mean_label > 0.0 && mean_label < 1.0)) return Metrics::kNone;
  return logloss /
         -(mean_label * std::log(mean_label) + (1.0 - mean_label) * std::log1p(-mean_label));
}

std::vector<CalibrationBin> CalibrationByScore(std::span<const float> labels,
                                               std::span<const float> scores, size_t bins) {
  CHECK_EQ(labels.size(), scores.size());
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return scores[i]; });
  bins = std::min(bins, order.size());
  std::vector<CalibrationBin> result(bins);
  for (size_t b = 0; b < bins; ++b) {
    const size_t begin = order.size() * b / bins, end = order.size() * (b + 1) / bins;
    CalibrationBin& bin = result[b];
    bin.samples = end - begin;
    for (size_t i = begin; i < end; ++i) {
      bin.mean_score += scores[order[i]];
      bin.mean_label += labels[order[i]];
    }
    bin.mean_score /= static_cast<double>(bin.samples);
    bin.mean_label /= static_cast<double>(bin.samples);
  }
  return result;
}

GroupedAuc::Result GroupedAuc::Of() const {
  // By group number, so that the sum does not depend on the order of the map.
  std::vector<uint64_t> numbers;
  for (const auto& [number, group] : groups_) numbers.push_back(number);
  std::ranges::sort(numbers);
  Result result;
  double sum = 0.0;
  for (const uint64_t number : numbers) {
    const auto& [labels, scores] = groups_.at(number);
    const double auc = ComputeMetrics(labels, scores).roc_auc;
    if (std::isnan(auc)) {
      ++result.groups_left_out;
      continue;
    }
    ++result.groups;
    result.samples += labels.size();
    sum += auc * static_cast<double>(labels.size());
  }
  result.auc = result.groups > 0 ? sum / static_cast<double>(result.samples) : Metrics::kNone;
  return result;
}

}  // namespace rowhouse
