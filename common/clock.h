// Clock: the only source of time, so that tests decide when a deadline has passed.
//
// Times are milliseconds on a monotonic clock with an arbitrary origin: good for differences only.
#pragma once

#include <cstdint>

namespace rowhouse {

using TimeMs = int64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeMs NowMs() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimeMs NowMs() const override;
};

// Stands still until told otherwise. Not thread-safe: for single-thread tests.
class ManualClock final : public Clock {
 public:
  TimeMs NowMs() const override { return now_ms_; }
  void Advance(TimeMs by_ms) { now_ms_ += by_ms; }

 private:
  TimeMs now_ms_ = 0;
};

}  // namespace rowhouse
