// Verdict: the errors of all predictions beside their targets.
//
// Errors are |predicted / measured - 1|, that of a hit rate is a difference. Configurations with
// more busy threads than cores, and unsteady ones, are reported apart and count in no error of
// time. Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/accountability/accounted_run.h"
#include "launch/accountability/contest_outcome.h"
#include "launch/calibrate/calibration.h"
#include "sharding/cost/prediction_error.h"

namespace rowhouse {

struct Accountability {
  Calibration calibration;
  std::vector<AccountedRun> runs;
  std::vector<ContestOutcome> choices;
  bool is_quick = false;  // small runs, of which times are not judged
  bool is_part = false;   // not all configurations and contests were asked for
  double seconds = 0;     // that all of it took
};

// Whether a run's step time counts.
bool CountsInTime(const AccountedRun& run);

PredictionError StepTimeError(std::span<const AccountedRun> runs);
PredictionError BytesError(std::span<const AccountedRun> runs);
PredictionError LoadError(std::span<const AccountedRun> runs);  // rows pulled of each PS node
double LargestHitRateError(std::span<const AccountedRun> runs);

struct Target {
  std::string name;
  double value = 0, limit = 0;
  bool is_least = false;  // the value is to be at least the limit, not at most
  bool is_share = true;   // printed in percent

  bool is_met() const { return is_least ? value >= limit : value <= limit; }
};
std::vector<Target> TargetsOf(const Accountability& all);

}  // namespace rowhouse
