#include "sharding/tables/mixed_dimensions.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rowhouse {
namespace {

constexpr float kMaxDim = 0x1p31f;  // wider than any row may be, and still a uint32_t

}  // namespace

std::vector<uint32_t> MixedDimensions(std::span<const uint64_t> rows,
                                      const MixedDimensionOptions& options) {
  CHECK(options.base_dim >= 1 || options.budget > 0.0);
  CHECK(options.lookups.empty() || options.lookups.size() == rows.size());
  if (rows.empty()) return {};
  std::vector<float> sizes(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK_GE(rows[i], 1u);
    const float lookups = options.lookups.empty() ? 1.0f : static_cast<float>(options.lookups[i]);
    sizes[i] = static_cast<float>(rows[i]) / lookups;
  }
  // The original sorts by rows; the first of them is the one that gets base_dim.
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [rows](size_t a, size_t b) { return rows[a] < rows[b]; });

  const auto temperature = static_cast<float>(options.temperature);
  float lambda = 0.0f;
  if (options.base_dim >= 1) {
    lambda = static_cast<float>(options.base_dim) * std::pow(sizes[order.front()], temperature);
  } else {
    float sum = 0.0f;
    for (const size_t i : order) sum += std::pow(sizes[i], 1.0f - temperature);
    lambda = static_cast<float>(options.budget) / sum;
  }
  std::vector<uint32_t> dims(rows.size());
  for (const size_t i : order) {
    float dim = lambda * std::pow(sizes[i], -temperature);
    if (options.base_dim >= 1 && !std::isnormal(lambda)) {
      // A steep rule over large tables: lambda is beyond f32, the dim need not be.
      const double ratio = double{sizes[order.front()]} / double{sizes[i]};
      dim = static_cast<float>(options.base_dim * std::pow(ratio, options.temperature));
    }
    if (options.base_dim >= 1 && i == order.front()) dim = static_cast<float>(options.base_dim);
    // 1 where it is no number.
    dim = std::nearbyint(std::min(std::max(1.0f, dim), kMaxDim));
    if (options.round_to_power) dim = std::exp2(std::nearbyint(std::log2(dim)));
    dims[i] = static_cast<uint32_t>(dim);
  }
  return dims;
}

}  // namespace rowhouse
