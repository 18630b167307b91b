// Fitting: makes a preprocessing from data: counts the tokens of dictionary columns, adds up the
// values of standardised ones, and writes vocabularies, in which tokens are numbered by first
// appearance, and preprocessing.json.
//
// Neither numbers nor statistics depend on threads. Memory is bounded: tokens that do not fit are
// spilled to files in the directory, which are removed.
//
// Threads: Add on several threads at once, each with a number of its own; the rest on one.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/convert/token_counts.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/schema.h"

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

struct FittingOptions {
  std::string directory;  // where files are made; it exists
  uint32_t threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;
  // Of each categorical column: its table takes ids beyond its rows. Empty: none does.
  std::vector<bool> takes_bad_ids;
  std::string source;  // how messages name the data
};

class Fitting {
 public:
  // Whether something has to be counted or added up at all.
  static bool IsNeeded(const Schema& schema);

  Fitting(const Schema& schema, FittingOptions options);

  // Counts the tokens of raw samples, which are chunk number `chunk` of the data: below 2^32, and
  // ascending on each thread.
  Status AddTokens(uint32_t thread, uint64_t chunk, const Batch& raw);

  // Of each dense column; others than standardised ones are left empty.
  std::vector<Moments> MomentsOf(const Batch& raw) const;
  // Call it in the order of the data.
  void AddMoments(const std::vector<Moments>& moments);

  // Writes the files. A column whose rows are 0 gets as many as it needs. kUsage if a dictionary
  // needs more rows than its table has, unless it has a row for rare tokens, which then stands for
  // those that appear last, or its table takes bad ids.
  Status Finish();

  // A sentence for each dictionary that had no room for all tokens that occur often enough. After
  // Finish.
  std::vector<std::string> Warnings() const;

 private:
  struct Dictionary {
    size_t column = 0;    // among the categorical ones
    uint64_t tokens = 0;  // that occur often enough
    uint64_t kept = 0;    // of these
  };

  // `part`: of `parts` that are made at the same time.
  Status WriteVocabulary(size_t dictionary, uint64_t parts);
  Status WriteVocabularies();
  uint64_t RowsNeeded(const Dictionary& dictionary) const;
  Status CheckRows() const;
  bool TakesBadIds(size_t column) const;

  Schema schema_;
  const FittingOptions options_;
  std::vector<Dictionary> dictionaries_;
  std::vector<Moments> moments_;                      // of each dense column
  std::vector<std::unique_ptr<TokenCounts>> counts_;  // of each thread; columns are dictionaries_
};

}  // namespace rowhouse
