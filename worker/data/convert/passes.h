// The two passes of a conversion over its text (worker/data/convert/converter.h), and what both
// count.
//
// Threads: the functions are called by one thread, which starts its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// ---- The first: makes the preprocessing (fitting.cc) ------------------------------------------

// It counts the tokens of dictionary columns and the numbers whose quantiles are edges of buckets,
// adds up the values of standardised ones, and writes vocabularies, in which tokens are numbered by
// first appearance, and preprocessing.json. Nothing of this depends on threads. Memory is bounded:
// tokens that do not fit are spilled to files in the directory, which are removed.

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

// Writes the preprocessing into `directory`: a new one, or options.preprocessing with more tokens,
// in which tokens without a row in their table stay unknown. Returns the digests of the files that
// it has read, none if it had to read none. A dictionary column with rows == 0: sized to its
// tokens. A dictionary that needs more rows than its table has:
//   its table takes bad ids        it is written whole
//   it has a row for rare tokens   that row stands for the tokens that appear last
//   neither                        kUsage
// *warnings: a sentence for each dictionary that had no room for all tokens that occur often
// enough.
Result<std::vector<std::string>> MakePreprocessing(const TextFormat& format,
                                                   const ConversionOptions& options,
                                                   uint32_t threads, const std::string& directory,
                                                   std::vector<std::string>* warnings);

// ---- The second: writes blocks (second_pass.cc) -----------------------------------------------

// Writes the samples as state->data_path(), going on where `state` says. `counted`: what
// MakePreprocessing returned in this call, to notice files that have changed since.
Status WriteData(const TextFormat& format, const ConversionOptions& options, uint32_t threads,
                 const std::vector<std::string>& counted,
                 const std::shared_ptr<const Preprocessing>& preprocessing, ConversionState* state,
                 ConversionSummary* summary);

// ---- Of both --------------------------------------------------------------------------------

// What a pass over the text has done, for the caller of a conversion. Threads: the counters on any;
// Tick on one.
class PassProgress {
 public:
  // `start`: what is known when it begins; nothing is reported unless hooks.progress is set.
  PassProgress(const ConversionHooks& hooks, const ConversionProgress& start)
      : hooks_(hooks), reported_(start), samples_(start.samples), bad_lines_(start.bad_lines) {}

  void Add(uint64_t samples, uint64_t bad_lines) {
    samples_ += samples;
    bad_lines_ += bad_lines;
  }

  // Reports it, at most once a second.
  void Tick(uint64_t bytes_done) {
    const auto now = std::chrono::steady_clock::now();
    if (hooks_.progress == nullptr || now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    reported_.bytes_done = bytes_done;
    reported_.samples = samples_;
    reported_.bad_lines = bad_lines_;
    hooks_.progress(reported_);
  }

 private:
  const ConversionHooks& hooks_;
  ConversionProgress reported_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> samples_, bad_lines_;
};

// Bad lines that were left out, up to a number that the operator allows. Threads: one at a time.
class BadLineCount {
 public:
  // `before`: lines that an earlier call left out.
  explicit BadLineCount(uint64_t allowed, uint64_t before = 0)
      : allowed_(allowed), count_(before) {}

  // kUsage, with the message of the first bad line, for one more than are allowed. Call it in the
  // order of the data.
  Status Add(const std::vector<BadLine>& lines) {
    constexpr size_t kExamples = 5;
    for (const BadLine& line : lines) {
      if (examples_.size() < kExamples) examples_.push_back(line.message);
    }
    count_ += lines.size();
    if (count_ <= allowed_) return OkStatus();
    if (allowed_ == 0) return UsageError("{}", examples_.front());
    return UsageError("there are more than max_bad_lines={} bad lines; the first: {}", allowed_,
                      examples_.empty() ? "of an earlier call" : examples_.front());
  }

  uint64_t count() const { return count_; }
  const std::vector<std::string>& examples() const { return examples_; }

 private:
  uint64_t allowed_;
  uint64_t count_;
  std::vector<std::string> examples_;
};

}  // namespace rowhouse
