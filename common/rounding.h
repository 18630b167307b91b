// Rounding as numpy.round does it: to the nearest integer, halves to the even one (0.5 -> 0,
// 1.5 -> 2, 2.5 -> 2). DLRM's data and its accuracy are defined by it; std::round goes away from
// zero and would differ. And square roots of whole numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace rowhouse {

// nearbyint follows the rounding mode, which nothing in this program changes from "to nearest".
inline double RoundHalfEven(double value) { return std::nearbyint(value); }

// The square root of a whole number, rounded up: the least s with s * s >= n. Quotient-remainder
// tables have this size.
inline uint64_t CeilSqrt(uint64_t n) {
  auto s = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));  // A double has 53 bits.
  while (static_cast<unsigned __int128>(s) * s < n) ++s;
  while (s > 1 && static_cast<unsigned __int128>(s - 1) * (s - 1) >= n) --s;
  return s;
}

}  // namespace rowhouse
