// Where the first number is that is not one. Bits are looked at, so it vectorises and no compiler
// flag can assume it away.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rowhouse {

// Index of the first infinity or NaN.
inline std::optional<size_t> FirstNotFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  constexpr size_t kBlock = 1024;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t end = std::min(values.size(), begin + kBlock);
    uint32_t bad = 0;
    for (size_t i = begin; i < end; ++i) {
      bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent);
    }
    if (bad == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      if ((std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent) return i;
    }
  }
  return std::nullopt;
}

}  // namespace rowhouse
