// Clock: the only source of time, so that tests decide when a deadline has passed and how long a
// phase took.
//
// Times are on a monotonic clock with an arbitrary origin: good for differences only.
#pragma once

#include <cstdint>
#include <string>

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

inline double SecondsOf(TimeNs ns) { return static_cast<double>(ns) * 1e-9; }
inline double SecondsSince(TimeNs start, const Clock& clock) {
  return SecondsOf(clock.NowNs() - start);
}

// The calendar's time, for people and files: "2025-01-31T12:00:00Z". Any thread.
std::string NowInUtc();

}  // namespace rowhouse
