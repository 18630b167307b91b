// Non-finite numbers: whether and where floats hold a NaN or infinity. The bits are tested, so that
// the loops vectorise and no compiler flag can assume that there is none.
#pragma once

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

// Index of the first NaN or infinity. For many values: a call of its own.
std::optional<size_t> FirstNotFinite(std::span<const float> values);

// For messages: a NaN loses its sign, which has no meaning and differs between processors.
template <typename T>
T ForPeople(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

}  // namespace rowhouse
