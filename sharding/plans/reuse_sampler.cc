#include "sharding/plans/reuse_sampler.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

namespace rowhouse {

double MissRatioCurve::MissRatio(double cache_rows) const {
  if (points.empty()) return 1.0;
  const auto after = std::ranges::upper_bound(points, cache_rows, {}, &Point::rows);
  if (after == points.begin()) return points.front().miss_ratio;
  if (after == points.end()) return points.back().miss_ratio;
  const Point& before = *(after - 1);
  const double share = (cache_rows - before.rows) / (after->rows - before.rows);
  return before.miss_ratio + share * (after->miss_ratio - before.miss_ratio);
}

double MissRatioCurve::error() const {
  return rows_followed > 0.0 ? kErrorOfOneRow / std::sqrt(rows_followed) : 0.0;
}

nlohmann::ordered_json MissRatioCurve::ToJson() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Point& point : points) list.push_back({point.rows, point.miss_ratio});
  return {{"accesses", accesses},
          {"distinct_rows", distinct_rows},
          {"error", error()},
          {"points", std::move(list)}};
}

ReuseSampler::ReuseSampler(size_t rows, double rate, int per_octave)
    : rows_(rows),
      threshold_(ThresholdOf(rate)),
      per_octave_(per_octave),
      buckets_(kOctaves * static_cast<size_t>(per_octave)),
      tree_(4 * std::min(rows, kMaxRows) + 1) {
  CHECK_GT(rows_, 0u);
  CHECK(rate > 0.0 && rate <= 1.0) << rate;
}

size_t ReuseSampler::RowsFor(uint64_t bytes) {
  const uint64_t rows = (std::max<uint64_t>(bytes, kFixedBytes) - kFixedBytes) / kBytesARow;
  return std::clamp<uint64_t>(rows, kMinRows, kMaxRows);
}

size_t ReuseSampler::BucketOf(double distance, int per_octave) {
  if (distance < 1.0) return 0;
  const size_t last = kOctaves * static_cast<size_t>(per_octave) - 1;
  return std::min(last, static_cast<size_t>(std::log2(distance) * per_octave) + 1);
}

void ReuseSampler::Mark(size_t time, int32_t change) {
  for (size_t i = time + 1; i < tree_.size(); i += i & -i)
    tree_[i] += static_cast<uint32_t>(change);
}

uint32_t ReuseSampler::MarkedUpTo(size_t time) const {
  uint32_t sum = 0;
  for (size_t i = time + 1; i > 0; i -= i & -i) sum += tree_[i];
  return sum;
}

// Times grow with every sampled access, but only their order matters.
void ReuseSampler::RenumberTimes() {
  if (last_.size() > tree_.size() / 2) tree_.resize(2 * tree_.size());  // rows_ is large
  std::vector<std::pair<size_t, uint64_t>> order;
  for (const auto& [row, time] : last_) order.emplace_back(time, row);
  std::sort(order.begin(), order.end());
  std::fill(tree_.begin(), tree_.end(), 0u);
  now_ = 0;
  for (const auto& [time, row] : order) {
    last_[row] = now_;
    Mark(now_++, 1);
  }
}

void ReuseSampler::Forget() {
  const auto last = std::prev(by_hash_.end());
  const double before = rate();
  threshold_ = last->first;
  while (!by_hash_.empty() && by_hash_.rbegin()->first >= threshold_) {
    const auto row = last_.find(by_hash_.rbegin()->second);
    Mark(row->second, -1);
    last_.erase(row);
    by_hash_.erase(std::prev(by_hash_.end()));
  }
  // Counts at the higher rate stand for fewer accesses each.
  const double scale = rate() / before;
  for (double& bucket : buckets_) bucket *= scale;
  first_uses_ *= scale;
  sampled_ *= scale;
}

void ReuseSampler::AddSampled(RowId row, uint64_t hash) {
  if (now_ + 1 == tree_.size()) RenumberTimes();
  sampled_ += 1.0;
  const auto [found, is_new] = last_.emplace(Raw(row), now_);
  if (is_new) {
    first_uses_ += 1.0;
    if (rows_ != kAllRows) by_hash_.emplace(hash, Raw(row));
  } else {
    const auto between =
        static_cast<double>(last_.size()) - static_cast<double>(MarkedUpTo(found->second));
    buckets_[BucketOf(between / rate(), per_octave_)] += 1.0;
    Mark(found->second, -1);
    found->second = now_;
  }
  Mark(now_++, 1);
  if (last_.size() > rows_) Forget();
}

double ReuseSampler::MissRatio(double cache_rows) const { return Curve()(cache_rows); }

std::vector<double> ReuseSampler::MissRatios() const {
  const double expected = accesses_ * rate();
  std::vector<double> ratios;
  if (expected <= 0.0) return ratios;
  // Up to the first bucket that is not cached.
  ratios.resize(buckets_.size());
  double misses = first_uses_;
  for (size_t i = buckets_.size(); i-- > 0;) {
    misses += buckets_[i];
    // Most of the sample's error is a hot row that is in it or is not. Such a row hits in any
    // cache, so accesses that the sample has too few or too many of are counted as hits
    // ("SHARDS-adj").
    ratios[i] = std::clamp(misses / expected, 0.0, 1.0);
  }
  return ratios;
}

std::function<double(double)> ReuseSampler::Curve() const {
  const auto ratios = std::make_shared<const std::vector<double>>(MissRatios());
  if (ratios->empty()) return [](double) { return 1.0; };
  return [ratios, per_octave = per_octave_](double cache_rows) {
    return cache_rows < 1.0 ? 1.0 : (*ratios)[BucketOf(cache_rows, per_octave)];
  };
}

MissRatioCurve ReuseSampler::Points() const {
  MissRatioCurve curve;
  const std::vector<double> ratios = MissRatios();
  if (ratios.empty() || last_.empty()) return curve;
  const auto followed = static_cast<double>(last_.size());
  curve.accesses = accesses_;
  curve.distinct_rows = followed / rate();
  curve.rows_followed = threshold_ < kHashes ? followed : 0.0;
  const auto add = [&curve](double rows, double miss_ratio) {
    if (curve.points.back().rows == rows) curve.points.pop_back();
    curve.points.push_back({rows, miss_ratio});
  };
  curve.points.push_back({0.0, 1.0});
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (buckets_[i] <= 0.0) continue;
    // A cache that has as many rows as the bucket's lower end holds nothing of it, one of its upper
    // end everything.
    if (i > 0) add(std::ceil(std::exp2(static_cast<double>(i - 1) / per_octave_)), ratios[i]);
    add(std::ceil(std::exp2(static_cast<double>(i) / per_octave_)),
        i + 1 < ratios.size() ? ratios[i + 1] : 0.0);
  }
  if (curve.points.size() == 1) curve.points.push_back({1.0, ratios[0]});
  return curve;
}

void ReuseSampler::Age() {
  accesses_ /= 2.0;
  sampled_ /= 2.0;
  first_uses_ /= 2.0;
  for (double& bucket : buckets_) bucket /= 2.0;
}

}  // namespace rowhouse
