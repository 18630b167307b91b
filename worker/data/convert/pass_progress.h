// PassProgress: what a pass over the text has done, for the caller of a conversion.
//
// Threads: the counters on any; Tick on one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "worker/data/convert/converter.h"

namespace rowhouse {

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

}  // namespace rowhouse
