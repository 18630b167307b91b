// The square root of a whole number, rounded up: the size of quotient-remainder tables.
#pragma once

#include <cmath>
#include <cstdint>

namespace rowhouse {

// The least s with s * s >= n.
inline uint64_t CeilSqrt(uint64_t n) {
  auto s = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));  // A double has 53 bits.
  while (static_cast<unsigned __int128>(s) * s < n) ++s;
  while (s > 1 && static_cast<unsigned __int128>(s - 1) * (s - 1) >= n) --s;
  return s;
}

}  // namespace rowhouse
