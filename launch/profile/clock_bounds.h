// ClockBounds: how far another clock is ahead of ours, from messages: what was sent before another
// came in was sent earlier, whatever the two clocks say.
//
// Each fact bounds the offset on one side; the narrowest pair counts (Cristian, "Probabilistic
// clock synchronization", 1989). Threads: one.
#pragma once

#include <algorithm>
#include <limits>

#include "common/clock.h"

namespace rowhouse {

class ClockBounds {
 public:
  // Its clock showed `its` after ours had shown `ours`.
  void ItsAfterOurs(TimeNs its, TimeNs ours) { high_ = std::min(high_, its - ours); }
  // Its clock showed `its` before ours showed `ours`.
  void ItsBeforeOurs(TimeNs its, TimeNs ours) { low_ = std::max(low_, its - ours); }

  // To be subtracted from its times, and the most it can be wrong by. Requires a fact of each kind.
  TimeNs offset() const { return low_ + (high_ - low_) / 2; }
  TimeNs error() const { return std::max<TimeNs>((high_ - low_) / 2, 1); }

 private:
  TimeNs low_ = std::numeric_limits<TimeNs>::min();
  TimeNs high_ = std::numeric_limits<TimeNs>::max();
};

}  // namespace rowhouse
