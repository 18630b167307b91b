// RankSpeed: by how much a phase of a rank takes longer than predicted: jitter of each phase, and
// stragglers, which are slow for the whole run. A draw depends on seed, rank, step and phase alone.
// Threads: const functions may be shared.
#pragma once

#include <cstdint>
#include <vector>

namespace rowhouse {

struct SpeedOptions {
  uint64_t seed = 1;
  double jitter = 0;  // standard deviation; the factor is log-normal with mean 1
  double straggler_share = 0;
  double straggler_factor = 1;
};

class RankSpeed {
 public:
  static constexpr uint32_t kPhases = 16;

  // round(straggler_share * ranks) of them are slow, at least one if the share is > 0.
  RankSpeed(const SpeedOptions& options, uint32_t ranks);

  // What the predicted time is multiplied by: the jitter, times the rank's own factor. Requires
  // phase < kPhases.
  double Slowness(uint32_t rank, uint64_t step, uint32_t phase) const {
    return factor_[rank] * Jitter(rank, step, phase);
  }
  // The jitter alone; of any number, for what is no rank's own.
  double Jitter(uint32_t rank, uint64_t step, uint32_t phase) const;

 private:
  uint64_t seed_;
  double sigma_, mu_;  // of the factor's logarithm
  std::vector<double> factor_;
};

}  // namespace rowhouse
