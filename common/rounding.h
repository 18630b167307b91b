// Rounding as numpy.round does it: to the nearest integer, halves to the even one (0.5 -> 0,
// 1.5 -> 2, 2.5 -> 2). DLRM's data and its accuracy are defined by it; std::round goes away from
// zero and would differ.
#pragma once

#include <cmath>

namespace rowhouse {

// nearbyint follows the rounding mode, which nothing in this program changes from "to nearest".
inline double RoundHalfEven(double value) { return std::nearbyint(value); }

}  // namespace rowhouse
