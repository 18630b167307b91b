// The second pass of a conversion over its text (worker/data/convert/converter.h), which writes
// blocks, and what both passes count; the first is fitting.h.
//
// Threads: WriteData is called by one thread and starts its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_description.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

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
  // `start`: what is known when it begins; nothing is told unless hooks.progress is set.
  PassProgress(const ConversionHooks& hooks, const ConversionProgress& start)
      : hooks_(hooks), told_(start), samples_(start.samples), bad_lines_(start.bad_lines) {}

  void Add(uint64_t samples, uint64_t bad_lines) {
    samples_ += samples;
    bad_lines_ += bad_lines;
  }

  // Tells it, at most once a second.
  void Tick(uint64_t bytes_done) {
    const auto now = std::chrono::steady_clock::now();
    if (hooks_.progress == nullptr || now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    told_.bytes_done = bytes_done;
    told_.samples = samples_;
    told_.bad_lines = bad_lines_;
    hooks_.progress(told_);
  }

 private:
  const ConversionHooks& hooks_;
  ConversionProgress told_;
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
