// The vectors of each sample side by side, as the interactions that work on one long vector need
// them. Threads: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace rowhouse {

// Floats of all vectors together.
inline uint32_t StackedWidth(const std::vector<uint32_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), uint32_t{0});
}

// stacked: samples x StackedWidth, overwritten: [t_0 | t_1 | ...], with vectors[i] samples x
// widths[i].
inline void Stack(std::span<const float* const> vectors, const std::vector<uint32_t>& widths,
                  size_t samples, float* stacked) {
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < widths.size(); ++i) {
      stacked = std::copy_n(vectors[i] + s * widths[i], widths[i], stacked);
    }
  }
}

// The way back.
inline void Unstack(const float* stacked, const std::vector<uint32_t>& widths, size_t samples,
                    std::span<float* const> vectors) {
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < widths.size(); ++i) {
      std::copy_n(stacked, widths[i], vectors[i] + s * widths[i]);
      stacked += widths[i];
    }
  }
}

}  // namespace rowhouse
