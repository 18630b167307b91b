// Moments: mean and deviation of numbers of which parts are added up in a fixed order, so that the
// result has the same bits however many threads made the parts.
//
// Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979. Threads: plain data.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace rowhouse {

struct Moments {
  uint64_t count = 0;
  double mean = 0.0;
  double squares = 0.0;  // sum of squared distances from the mean

  // Of a column of samples x width values, row-major; NaN does not count.
  static Moments Of(std::span<const float> values, size_t column, size_t width) {
    Moments moments;
    double sum = 0.0;
    for (size_t at = column; at < values.size(); at += width) {
      if (std::isnan(values[at])) continue;
      sum += static_cast<double>(values[at]);
      ++moments.count;
    }
    if (moments.count == 0) return moments;
    moments.mean = sum / static_cast<double>(moments.count);
    for (size_t at = column; at < values.size(); at += width) {
      if (std::isnan(values[at])) continue;
      const double distance = static_cast<double>(values[at]) - moments.mean;
      moments.squares += distance * distance;
    }
    return moments;
  }

  // Adds those of values that come after.
  void Add(const Moments& next) {
    if (next.count == 0) return;
    const double before = static_cast<double>(count), added = static_cast<double>(next.count);
    const double all = before + added, distance = next.mean - mean;
    mean += distance * (added / all);
    squares += next.squares + distance * distance * (before * added / all);
    count += next.count;
  }

  // Of the population.
  double deviation() const {
    return count == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(count));
  }
};

}  // namespace rowhouse
