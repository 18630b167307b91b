// Non-finite numbers: whether and where floats hold a NaN or infinity. The bits are tested, so that
// the loops vectorise and no compiler flag can assume that there is none.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace rowhouse {

inline bool IsFinite(float value) {
  constexpr uint32_t kExponent = 0x7f800000;
  return (std::bit_cast<uint32_t>(value) & kExponent) != kExponent;
}

inline bool AreFinite(std::span<const float> values) {
  uint32_t bad = 0;
  for (const float value : values) bad |= static_cast<uint32_t>(!IsFinite(value));
  return bad == 0;
}

// Index of the first NaN or infinity.
inline std::optional<size_t> FirstNotFinite(std::span<const float> values) {
  constexpr size_t kBlock = 1024;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const float> block =
        values.subspan(begin, std::min(kBlock, values.size() - begin));
    if (AreFinite(block)) continue;
    const auto bad = std::find_if_not(block.begin(), block.end(), IsFinite);
    return begin + static_cast<size_t>(bad - block.begin());
  }
  return std::nullopt;
}

// For messages: a NaN loses its sign, which has no meaning and differs between processors.
template <typename T>
T ForPeople(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

}  // namespace rowhouse
