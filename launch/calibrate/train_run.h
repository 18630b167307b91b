// TrainRun: a configuration trained once, by mpirun of this program, as an operator would; and what
// its report says of it.
//
// Threads: one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/trained_config.h"

namespace rowhouse {

// A step, as measured.
struct MeasuredStep {
  double ms = 0;                         // median
  double wire_bytes = 0;                 // over all workers
  double hit_rate = 1;                   // of all pulled rows
  std::vector<double> rows_pulled;       // of each PS node
  std::map<std::string, double> phases;  // ms, of worker 0, by name; means over the run

  // Of a median step. The first pull waits for connections, so that the mean of pulls is too large:
  // what all phases take beyond the median step is left out of it.
  double SteadyPhase(const std::string& name) const;
};

// kInternal, with what it printed, if the run fails.
Result<MeasuredStep> TrainOnce(const TrainedConfig& config);

// Of a report.json. kInternal, naming what is missing.
Result<MeasuredStep> MeasuredStepOf(const std::string& report);

}  // namespace rowhouse
