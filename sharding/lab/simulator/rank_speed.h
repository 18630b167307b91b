// RankSpeed: by how much a phase of a rank takes longer than predicted. The factor is log-normal
// with mean 1; a draw depends on seed, rank, step and phase alone. Threads: const functions may be
// shared.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/random.h"

namespace rowhouse {

class RankSpeed {
 public:
  static constexpr uint32_t kPhases = 16;

  // `jitter`: standard deviation of the factor; 0: every phase takes as long as predicted.
  RankSpeed(uint64_t seed, double jitter)
      : key_(MixKey(seed, 2)), sigma_(std::sqrt(std::log1p(jitter * jitter))) {}

  // What the predicted time is multiplied by. Requires phase < kPhases. For what is no rank's own
  // `rank` is any number that is none.
  double Jitter(uint32_t rank, uint64_t step, uint32_t phase) const {
    if (sigma_ == 0) return 1;
    const uint64_t key = MixKey(key_, rank);
    const uint64_t draw = 2 * (step * kPhases + phase);
    const double normal = ToNormal(MixBits(key, draw), MixBits(key, draw + 1));
    return std::exp(-sigma_ * sigma_ / 2 + sigma_ * normal);
  }

 private:
  uint64_t key_;
  double sigma_;  // of the factor's logarithm
};

}  // namespace rowhouse
