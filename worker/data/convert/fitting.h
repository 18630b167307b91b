// The first pass of a conversion: makes a preprocessing from data. It counts the tokens of
// dictionary columns, adds up the values of standardised ones, and writes vocabularies, in which
// tokens are numbered by first appearance, and preprocessing.json.
//
// Neither numbers nor statistics depend on threads. Memory is bounded: tokens that do not fit are
// spilled to files in the directory, which are removed.
//
// Threads: the functions are called by one thread, which starts its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// Mean and deviation of numbers of which parts are added up in a fixed order, so that the result
// has the same bits however many threads made the parts. Source: Chan, Golub and LeVeque, "Updating
// formulae and a pairwise algorithm for computing sample variances", 1979.
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

// Whether MakePreprocessing reads the text.
bool HasFirstPass(const TextFormat& format, const ConversionOptions& options);

// Writes the preprocessing into `directory`. Returns the digests of the files that it has read,
// none if it had to read none. A column whose rows are 0 gets as many as it needs. kUsage if a
// dictionary needs more rows than its table has, unless it has a row for rare tokens, which then
// stands for those that appear last, or its table takes bad ids. *warnings: a sentence for each
// dictionary that had no room for all tokens that occur often enough.
Result<std::vector<std::string>> MakePreprocessing(const TextFormat& format,
                                                   const ConversionOptions& options,
                                                   uint32_t threads, const std::string& directory,
                                                   std::vector<std::string>* warnings);

}  // namespace rowhouse
