#include "sharding/tables/longest_processing_time.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>

namespace rowhouse {
namespace {

using Wide = unsigned __int128;

std::vector<uint32_t> ByFallingSize(std::span<const uint64_t> sizes) {
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return sizes[a] > sizes[b]; });
  return order;
}

class BranchAndBound {
 public:
  BranchAndBound(std::vector<uint64_t> falling, uint32_t ranks)
      : sizes_(std::move(falling)),
        loads_(std::min<size_t>(ranks, sizes_.size()), 0),
        bound_(MaxLoadLowerBound(sizes_, ranks)),
        best_(std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0})) {}

  uint64_t Solve() {
    Place(0, 0);
    return best_;
  }

 private:
  void Place(size_t item, uint64_t largest) {
    if (largest >= best_ || best_ == bound_) return;
    if (item == sizes_.size()) {
      best_ = largest;
      return;
    }
    for (uint64_t& load : loads_) {
      const bool was_empty = load == 0;
      load += sizes_[item];
      Place(item + 1, std::max(largest, load));
      load -= sizes_[item];
      if (was_empty) return;  // Other empty ranks are this one by another number.
    }
  }

  const std::vector<uint64_t> sizes_;
  std::vector<uint64_t> loads_;
  const uint64_t bound_;
  uint64_t best_;
};

}  // namespace

std::vector<std::vector<uint32_t>> LongestProcessingTime(std::span<const uint64_t> sizes,
                                                         std::span<const uint32_t> capacities) {
  CHECK(!capacities.empty());
  std::vector<std::vector<uint32_t>> items(capacities.size());
  std::vector<uint64_t> loads(capacities.size(), 0);
  for (const uint32_t item : ByFallingSize(sizes)) {
    size_t first_done = 0;
    for (size_t rank = 1; rank < capacities.size(); ++rank) {
      // (load + size) / capacity, compared without dividing.
      const Wide here = Wide{loads[rank] + sizes[item]} * capacities[first_done];
      const Wide there = Wide{loads[first_done] + sizes[item]} * capacities[rank];
      if (here < there) first_done = rank;
    }
    items[first_done].push_back(item);
    loads[first_done] += sizes[item];
  }
  return items;
}

uint64_t MaxLoadLowerBound(std::span<const uint64_t> sizes, uint32_t ranks) {
  CHECK(!sizes.empty());
  CHECK_GT(ranks, 0u);
  const uint64_t total = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const uint64_t mean = total / ranks + (total % ranks == 0 ? 0 : 1);
  return std::max(mean, *std::max_element(sizes.begin(), sizes.end()));
}

uint64_t OptimalMaxLoad(std::span<const uint64_t> sizes, uint32_t ranks) {
  CHECK_LE(sizes.size(), kMaxItemsToSolve);
  std::vector<uint64_t> falling;
  for (const uint32_t item : ByFallingSize(sizes)) falling.push_back(sizes[item]);
  return BranchAndBound(std::move(falling), ranks).Solve();
}

}  // namespace rowhouse
