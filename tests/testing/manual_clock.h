// ManualClock: a clock that stands still until it is advanced. Threads: one.
#pragma once

#include "common/clock.h"

namespace rowhouse {

class ManualClock final : public Clock {
 public:
  TimeNs NowNs() const override { return now_ns_; }
  void Advance(TimeMs by_ms) { now_ns_ += by_ms * kNsPerMs; }

 private:
  TimeNs now_ns_ = 0;
};

}  // namespace rowhouse
