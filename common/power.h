// Powers with the same bits on every machine: std::pow may differ in the last bit between C
// libraries, multiplications may not.
#pragma once

#include <cstdint>

namespace rowhouse {

// base^exponent by repeated squaring, so at most 128 multiplications; 1 for exponent 0.
constexpr double Power(double base, uint64_t exponent) {
  double power = 1.0;
  for (double square = base; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power *= square;
    square *= square;
  }
  return power;
}

}  // namespace rowhouse
