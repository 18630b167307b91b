#include "sharding/lab/gpu/gpu_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rowhouse {

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
  const double all = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double largest = 0;
  for (const double own : sizes) {
    const double received = all - own, sent = own * static_cast<double>(sizes.size() - 1);
    largest = std::max({largest, received, sent});
  }
  return largest;
}

const std::vector<GpuModel>& GpuModels() {
  static const std::vector<GpuModel> models = {
      {.name = "A100",
       .dram_gbs = 1283.578,
       .l2_gbs = 1811.562,
       .gflops = 12410.474,
       .multiprocessors = 108,
       .l2_bytes = 40u << 20,
       .l2_bytes_of_original = 40u << 20,
       .dram = {.floor_log2 = 14,
                .peak_log2 = 29,
                .peak_gbs = 1391.103638,
                .floor_us = 6.450239,
                .height = 2.20955621,
                .middle = 20.35203082,
                .slope = 0.62528837,
                .base = 0.93242722}},
      // 12,200 and 809 are the notebook's; a later version of its authors' says 15,441 and 817.
      {.name = "V100",
       .dram_gbs = 809,
       .l2_gbs = 2888,
       .gflops = 12200,
       .multiprocessors = 80,
       .l2_bytes = 6u << 20,
       .l2_bytes_of_original = 24u << 20,  // 6 MiB taken for words
       .dram = {.floor_log2 = 16,
                .peak_log2 = 30,
                .peak_gbs = 816.953003,
                .floor_us = 4.83328223,
                .height = 1.9472268,
                .middle = 19.81699009,
                .slope = 0.55556443,
                .base = 0.95523816}},
  };
  return models;
}

const GpuModel* FindGpuModel(std::string_view name) {
  for (const GpuModel& model : GpuModels()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace rowhouse
