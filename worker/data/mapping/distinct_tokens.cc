#include "worker/data/mapping/distinct_tokens.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace rowhouse {

void DistinctTokens::Add(std::string_view token) {
  AddHash(XXH3_64bits(token.data(), token.size()));
}

void DistinctTokens::AddKey(uint64_t key) { AddHash(XXH3_64bits(&key, sizeof(key))); }

void DistinctTokens::AddHash(uint64_t hash) {
  ++occurrences_;
  if ((hash & ((uint64_t{1} << depth_) - 1)) == 0) {
    ++kept_[hash];
    while (kept_.size() > kMostKept) {
      ++depth_;
      const uint64_t mask = (uint64_t{1} << depth_) - 1;
      std::erase_if(kept_, [mask](const auto& entry) { return (entry.first & mask) != 0; });
    }
  }
  if (std::has_single_bit(occurrences_)) history_.emplace_back(occurrences_, distinct());
}

uint64_t DistinctTokens::once() const {
  const auto count =
      std::ranges::count_if(kept_, [](const auto& entry) { return entry.second == 1; });
  return static_cast<uint64_t>(count) << depth_;
}

double DistinctTokens::DistinctAmong(double occurrences) const {
  const double now = static_cast<double>(distinct());
  const double seen = static_cast<double>(occurrences_);
  if (occurrences <= seen || history_.size() < 2) return now;
  // The last power of two that is at most half of what was added.
  const auto& [then_seen, then] =
      occurrences_ >= 2 * history_.back().first ? history_.back() : history_[history_.size() - 2];
  if (then == 0 || now <= static_cast<double>(then)) return now;
  const double exponent = std::min(1.0, std::log(now / static_cast<double>(then)) /
                                            std::log(seen / static_cast<double>(then_seen)));
  return now * std::pow(occurrences / seen, exponent);
}

}  // namespace rowhouse
