#include "ps/cache/reuse_sampler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

namespace rowhouse {

ReuseSampler::ReuseSampler(size_t rows) : rows_(rows), tree_(4 * rows + 1) {}

size_t ReuseSampler::RowsFor(uint64_t bytes) {
  const uint64_t rows = (std::max<uint64_t>(bytes, kFixedBytes) - kFixedBytes) / kBytesARow;
  return std::clamp<uint64_t>(rows, kMinRows, kMaxRows);
}

size_t ReuseSampler::BucketOf(double distance) {
  if (distance < 1.0) return 0;
  return std::min(kBuckets - 1, static_cast<size_t>(std::log2(distance) * kPerOctave) + 1);
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
    by_hash_.emplace(hash, Raw(row));
  } else {
    const auto between =
        static_cast<double>(last_.size()) - static_cast<double>(MarkedUpTo(found->second));
    buckets_[BucketOf(between / rate())] += 1.0;
    Mark(found->second, -1);
    found->second = now_;
  }
  Mark(now_++, 1);
  if (last_.size() > rows_) Forget();
}

double ReuseSampler::MissRatio(double cache_rows) const { return Curve()(cache_rows); }

std::function<double(double)> ReuseSampler::Curve() const {
  const double expected = accesses_ * rate();
  if (expected <= 0.0) return [](double) { return 1.0; };
  // Up to the first bucket that is not cached.
  const auto ratios = std::make_shared<std::array<double, kBuckets>>();
  double misses = first_uses_;
  for (size_t i = kBuckets; i-- > 0;) {
    misses += buckets_[i];
    (*ratios)[i] = std::clamp(misses / expected, 0.0, 1.0);
  }
  // Most of the sample's error is a hot row that is in it or is not. Such a row hits in any cache,
  // so accesses that the sample has too few or too many of are counted as hits ("SHARDS-adj"), but
  // not of a cache without slots.
  return [ratios](double cache_rows) {
    return cache_rows < 1.0 ? 1.0 : (*ratios)[BucketOf(cache_rows)];
  };
}

void ReuseSampler::Age() {
  accesses_ /= 2.0;
  sampled_ /= 2.0;
  first_uses_ /= 2.0;
  for (double& bucket : buckets_) bucket /= 2.0;
}

}  // namespace rowhouse
