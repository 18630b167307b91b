#include "sharding/lab/gpu/data_movement.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rowhouse {
namespace {

// The largest of combine(received, sent) over ranks.
template <typename Combine>
double LargestOverRanks(std::span<const double> sizes, const Combine& combine) {
  const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double largest = 0;
  for (const double own : sizes) {
    const double received = all - own;
    const double sent = own * static_cast<double>(sizes.size() - 1);
    largest = std::max(largest, combine(received, sent));
  }
  return largest;
}

}  // namespace

double DataMovementUs(const BandwidthCurve& curve, double bytes, double crossings) {
  if (bytes <= 1) return curve.floor_us;
  const double x = std::log2(bytes);
  if (x <= curve.floor_log2) return curve.floor_us;
  if (x > curve.peak_log2) return bytes / curve.peak_gbs * crossings / 1e3 + curve.floor_us;
  const double exponent =
      curve.height / (1 + std::exp(-curve.slope * (x - curve.middle))) + curve.base;
  return bytes / std::pow(10, exponent) * crossings / 1e3;
}

double BusCrossings(Collective collective, uint32_t ranks) {
  if (ranks < 2) return 0;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * share;
    case Collective::kReduce:
      return 1;
    default:
      return share;
  }
}

double CollectiveUs(const BandwidthCurve& link, Collective collective, uint32_t ranks,
                    double bytes) {
  if (ranks < 2) return 0;
  return DataMovementUs(link, bytes, BusCrossings(collective, ranks));
}

double MessageSizeMaxOfMax(std::span<const double> sizes) {
  return LargestOverRanks(sizes,
                          [](double received, double sent) { return std::max(received, sent); });
}

double MessageSizeMaxOfSum(std::span<const double> sizes) {
  return LargestOverRanks(sizes, [](double received, double sent) { return received + sent; });
}

}  // namespace rowhouse
