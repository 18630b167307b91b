// What would make a run faster: changes of one thing, each predicted, for
// `rowhouse plan --strategies`. Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/plan/candidate_plans.h"

namespace rowhouse {

struct Gain {
  std::string what;          // "twice the cache"
  std::string how;           // "--cache_mb=512"
  double ms = 0;             // a step, predicted with the change
  double share = 0;          // of the time that it saves; < 0: it costs time
  std::string refused = {};  // why it cannot be; then the figures are not set
};

// Changes of `from`, one of `candidates`, by falling gain: the best strategy, more cache, narrower
// rows, more PS nodes, workers, threads and network. Those that do not apply are left out.
Result<std::vector<Gain>> GainsOf(const LabRun& run, const CandidatePlan& from,
                                  std::span<const CandidatePlan> candidates);

}  // namespace rowhouse
