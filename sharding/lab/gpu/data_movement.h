// How long it takes to move bytes within a graphics processor or between several, by the curve of
// the authors of GpuModel (gpu_model.h).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace rowhouse {

// Bandwidth by size s of a message, x = log2(s):
//   x <= floor_log2:  latency alone, floor_us
//   x >  peak_log2:   s / peak_gbs + floor_us
//   between:          s / 10^(height / (1 + exp(-slope (x - middle))) + base) GB/s
// The three pieces need not meet: each was fitted to its own measurements.
struct BandwidthCurve {
  double floor_log2 = 0;
  double peak_log2 = 0;
  double peak_gbs = 0;
  double floor_us = 0;
  double height = 0, middle = 0, slope = 0, base = 0;
};

// Microseconds for `bytes`, each of which crosses `crossings` times. 0 bytes: the latency.
double DataMovementUs(const BandwidthCurve& curve, double bytes, double crossings = 1);

enum class Collective { kAllToAll, kAllReduce, kAllGather, kReduceScatter, kReduce };

// How often a byte crosses the bus of one of `ranks` >= 1 ranks, in a ring: (n - 1) / n, for
// allreduce twice that, for reduce 1. 0 for one rank.
double BusCrossings(Collective collective, uint32_t ranks);

// Microseconds of a collective of `bytes` a rank; 0 for one rank.
double CollectiveUs(const BandwidthCurve& link, Collective collective, uint32_t ranks,
                    double bytes);

// The bytes by which an all-to-all of uneven parts is predicted; `sizes`: what each rank sends to
// every other one. The slowest rank decides:
//   MaxOfMax: the larger of what it receives and what it sends; a link works both ways at once
//   MaxOfSum: their sum
double MessageSizeMaxOfMax(std::span<const double> sizes);
double MessageSizeMaxOfSum(std::span<const double> sizes);

}  // namespace rowhouse
