#include "worker/data/baseline.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"

namespace rowhouse {
namespace {

constexpr unsigned kTableBits = 24;
constexpr size_t kBuckets = 16;
// Chosen on the last quarter of the first 30,000 lines of Criteo's Kaggle data. The paper's L1 term
// makes weights sparse, which a baseline has no use for.
constexpr double kAlpha = 0.07, kBeta = 1.0, kL2 = 2.0;

// Columns of the hash besides those of tokens, which count from 0.
constexpr uint64_t kBiasColumn = UINT64_MAX, kFirstNumberColumn = uint64_t{1} << 32;
constexpr uint64_t kMissingKey = 0x6d697373696e67;  // "missing"

// Quantiles of `numbers`, which it sorts, ascending and each once.
std::vector<float> CutsOf(std::vector<float>* numbers) {
  std::vector<float> cuts;
  std::ranges::sort(*numbers);
  for (size_t i = 1; i < kBuckets && !numbers->empty(); ++i) {
    const float cut = (*numbers)[numbers->size() * i / kBuckets];
    if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
  }
  return cuts;
}

}  // namespace

LinearBaseline::LinearBaseline() : coordinates_(size_t{1} << kTableBits) {}

void LinearBaseline::LookAtNumbers(const Batch& raw, size_t sample) {
  CHECK(cuts_.empty());
  if (has_all_numbers()) return;
  ++looked_at_;
  numbers_.resize(raw.dense_features);
  for (size_t k = 0; k < raw.dense_features; ++k) {
    const float number = raw.dense[sample * raw.dense_features + k];
    if (!std::isnan(number)) numbers_[k].push_back(number);
  }
}

size_t LinearBaseline::BucketOf(size_t column, float number) {
  const std::vector<float>& cuts = cuts_[column];
  return static_cast<size_t>(std::ranges::upper_bound(cuts, number) - cuts.begin());
}

void LinearBaseline::AddFeature(uint64_t column, uint64_t key, float value) {
  features_.emplace_back(MixKey(column, key) >> (64 - kTableBits), value);
}

void LinearBaseline::FindFeatures(const Batch& raw, size_t sample) {
  if (cuts_.size() < raw.dense_features) {
    numbers_.resize(raw.dense_features);
    for (std::vector<float>& numbers : numbers_) cuts_.push_back(CutsOf(&numbers));
    numbers_ = {};
  }
  features_.clear();
  AddFeature(kBiasColumn, 0, 1.0f);
  for (size_t k = 0; k < raw.dense_features; ++k) {
    const float number = raw.dense[sample * raw.dense_features + k];
    AddFeature(kFirstNumberColumn + k, std::isnan(number) ? kMissingKey : BucketOf(k, number),
               1.0f);
  }
  for (size_t k = 0; k < raw.features.size(); ++k) {
    const Bags& bags = raw.features[k];
    const uint32_t begin = bags.offsets[sample], end = bags.offsets[sample + 1];
    if (begin == end) AddFeature(k, kMissingKey, 1.0f);
    for (uint32_t i = begin; i < end; ++i) {
      AddFeature(k, bags.ids[i], bags.weights.empty() ? 1.0f : bags.weights[i]);
    }
  }
}

double LinearBaseline::WeightOf(const Coordinate& at) {
  return -static_cast<double>(at.z) /
         ((kBeta + std::sqrt(static_cast<double>(at.n))) / kAlpha + kL2);
}

double LinearBaseline::Probability() const {
  double sum = 0.0;
  for (const auto& [at, value] : features_) sum += WeightOf(coordinates_[at]) * value;
  return 1.0 / (1.0 + std::exp(-std::clamp(sum, -35.0, 35.0)));
}

float LinearBaseline::Score(const Batch& raw, size_t sample) {
  FindFeatures(raw, sample);
  return static_cast<float>(Probability());
}

void LinearBaseline::Learn(const Batch& raw, size_t sample) {
  FindFeatures(raw, sample);
  const double weight = raw.weights.empty() ? 1.0 : static_cast<double>(raw.weights[sample]);
  const double error = weight * (Probability() - static_cast<double>(raw.labels[sample]));
  for (const auto& [at, value] : features_) {
    Coordinate& it = coordinates_[at];
    const double gradient = error * value, n = it.n, more = n + gradient * gradient;
    const double sigma = (std::sqrt(more) - std::sqrt(n)) / kAlpha;
    it.z = static_cast<float>(it.z + gradient - sigma * WeightOf(it));
    it.n = static_cast<float>(more);
  }
}

}  // namespace rowhouse
