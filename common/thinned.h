// Thinned<T>: a bounded sample of a series that may go on for ever: all values as long as there are
// fewer than kMax, then every second, every fourth, ... one, evenly over the whole series. Which
// ones depends on their number alone.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rowhouse {

template <typename T>
class Thinned {
 public:
  static constexpr size_t kMax = size_t{1} << 16;

  void Add(T value) {
    if (added_++ % every_ != 0) return;
    values_.push_back(value);
    if (values_.size() < kMax) return;
    for (size_t i = 0; 2 * i < values_.size(); ++i) values_[i] = values_[2 * i];
    values_.resize(kMax / 2);
    every_ *= 2;
  }
  // In order.
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  uint64_t added_ = 0, every_ = 1;
};

}  // namespace rowhouse
