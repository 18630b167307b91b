// Tells the waiting in an allreduce from its work, when the profiles of all workers are together.
//
// A worker waits from when it comes to the allreduce of a step until the last worker has come; the
// rest is summing and the network. No barrier is needed: each worker noted when it came, and their
// clocks are known to each other (clock_bounds.h). Threads: pure function.
#pragma once

#include <vector>

#include "launch/profile/run_profile.h"

namespace rowhouse {

// Of the phase "allreduce" of every worker: "allreduce/wait" and "allreduce/sum", in sums and in
// spans. Nothing where there is one worker. Sums of runs of more steps than are kept
// (KeptTimes::kMostAllreduces) divide as those of the kept ones; spans
// of the other steps stay "allreduce".
void DivideAllreduce(std::vector<RankProfile>* workers);

}  // namespace rowhouse
