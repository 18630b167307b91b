#include "sharding/simulator/rank_speed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/random.h"

namespace rowhouse {

RankSpeed::RankSpeed(const SpeedOptions& options, uint32_t ranks)
    : seed_(options.seed),
      sigma_(std::sqrt(std::log1p(options.jitter * options.jitter))),
      mu_(-sigma_ * sigma_ / 2),
      factor_(ranks, 1.0) {
  if (options.straggler_share <= 0 || ranks == 0) return;
  std::vector<uint32_t> order(ranks);
  std::iota(order.begin(), order.end(), 0u);
  const uint64_t key = MixKey(options.seed, 1);
  std::ranges::sort(order, {}, [&](uint32_t rank) { return MixBits(key, rank); });
  const auto slow = static_cast<uint32_t>(std::lround(options.straggler_share * ranks));
  for (uint32_t i = 0; i < std::clamp(slow, 1u, ranks); ++i) {
    factor_[order[i]] = options.straggler_factor;
  }
}

double RankSpeed::Jitter(uint32_t rank, uint64_t step, uint32_t phase) const {
  if (sigma_ == 0) return 1;
  const uint64_t key = MixKey(MixKey(seed_, 2), rank);
  const uint64_t draw = 2 * (step * kPhases + phase);
  const double normal = ToNormal(MixBits(key, draw), MixBits(key, draw + 1));
  return std::exp(mu_ + sigma_ * normal);
}

}  // namespace rowhouse
