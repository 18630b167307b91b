// The waiting in an allreduce, apart from its work, when the profiles of all workers are together.
//
// A worker waits from when it comes to the allreduce of a step until the last worker has come; the
// rest is summing and the network. No barrier is needed: each worker noted when it came, and their
// clocks are known to each other (ClockBounds). Threads: pure function.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "common/clock.h"
#include "launch/profile/run_profile.h"

namespace rowhouse {

// Of the phase "allreduce" of every worker: "allreduce/wait" and "allreduce/sum", in sums and in
// spans. Nothing where there is one worker. Sums of runs of more steps than are kept
// (KeptTimes::kMaxAllreduces) divide as those of the kept ones; spans
// of the other steps stay "allreduce".
void DivideAllreduce(std::vector<RankProfile>* workers);

// ClockBounds: how far another clock is ahead of ours, from messages: what was sent before another
// came in was sent earlier, whatever the two clocks say.
//
// Each fact bounds the offset on one side; the narrowest pair counts (Cristian, "Probabilistic
// clock synchronization", 1989).
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
