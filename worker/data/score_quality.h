// Measures of scores beside worker/data/metrics.h: how well calibrated they are, and how well they
// order the samples of each group.
//
// Threads: plain functions and data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rowhouse {

// NaN of none.
double MeanOf(std::span<const float> values);

// Logloss over the entropy of the labels' mean, which is the logloss of a model that knows the mean
// alone (He et al., 2014, "Practical Lessons from Predicting Clicks on Ads at Facebook"): below 1
// is better than that. NaN without both classes.
double NormalisedEntropy(double logloss, double mean_label);

struct CalibrationBin {
  uint64_t samples = 0;
  double mean_score = 0.0, mean_label = 0.0;
};
// Samples by ascending score, of equal scores in their order, in `bins` parts of sizes that differ
// by one at most; fewer parts where there are fewer samples. Requires spans of one size.
std::vector<CalibrationBin> CalibrationByScore(std::span<const float> labels,
                                               std::span<const float> scores, size_t bins);

// The mean of the groups' ROC AUCs, weighted by their samples (Zhou et al., 2018, "Deep Interest
// Network"). A group whose samples have one label has no AUC and is left out.
class GroupedAuc {
 public:
  void Add(uint64_t group, float label, float score) {
    groups_[group].first.push_back(label);
    groups_[group].second.push_back(score);
  }

  struct Result {
    double auc = 0.0;  // NaN where no group has one
    uint64_t groups = 0, samples = 0;
    uint64_t groups_left_out = 0;
  };
  Result Of() const;

 private:
  std::unordered_map<uint64_t, std::pair<std::vector<float>, std::vector<float>>> groups_;
};

}  // namespace rowhouse
