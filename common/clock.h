// Clock: the only source of time, so that tests decide when a deadline has passed and how long a
// phase took.
//
// Times are on a monotonic clock with an arbitrary origin: good for differences only.
#pragma once

#include <cstdint>

namespace rowhouse {

using TimeMs = int64_t;  // milliseconds
using TimeNs = int64_t;  // nanoseconds

inline constexpr TimeNs kNsPerMs = 1'000'000;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeNs NowNs() const = 0;
  // The same time, rounded down.
  TimeMs NowMs() const { return NowNs() / kNsPerMs; }
};

class SystemClock final : public Clock {
 public:
  TimeNs NowNs() const override;
};

// Stands still until told otherwise. Not thread-safe: for single-thread tests.
class ManualClock final : public Clock {
 public:
  TimeNs NowNs() const override { return now_ns_; }
  void Advance(TimeMs by_ms) { now_ns_ += by_ms * kNsPerMs; }

 private:
  TimeNs now_ns_ = 0;
};

inline double SecondsOf(TimeNs ns) { return static_cast<double>(ns) * 1e-9; }
inline double SecondsSince(TimeNs start, const Clock& clock) {
  return SecondsOf(clock.NowNs() - start);
}

}  // namespace rowhouse
