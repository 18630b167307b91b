// MedianOf: the middle one of some numbers; of an even number of them the mean of the middle two.
// Threads: pure function.
#pragma once

#include <glog/logging.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rowhouse {

// Requires at least one.
template <typename T>
double MedianOf(std::vector<T> values) {
  CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (double{*middle} + double{*std::max_element(values.begin(), middle)}) / 2;
}

}  // namespace rowhouse
