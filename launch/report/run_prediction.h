// RunPrediction: what the cost model says of a run, and predicted beside actual, for its report
// and for people at its end.
//
// Threads: pure, but for reading files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/settings/settings.h"
#include "sharding/lab/cost/step_cost.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct RunReport;

struct RunPrediction {
  StepCost cost;
  std::string calibration;  // the file of the machine's constants; "": typical ones
  std::string warning;      // of MachineOf; "": none
  std::string ids;          // IdsAreFrom
};

struct RunToPredict {
  uint32_t ps = 1;
  uint32_t shards_per_ps = 1;
  uint32_t workers = 1;
  uint32_t hosts = 1;
  uint32_t cores = 0;  // of a host; 0: as the machine's
  uint64_t steps = 0;
  uint64_t samples = 0;  // of these steps, over all workers; 0: of whole mini-batches
  bool goes_on = false;  // it began with a saved model
};
// Of a run of that many steps, over that many hosts. kUsage if the calibration or the access counts
// cannot be read or lack something.
Result<RunPrediction> PredictRun(const Settings& settings, const Plan& plan,
                                 const RunToPredict& run);

// {calibration, warning, ids, steps, bound, busy_threads, is_oversubscribed, step_ms,
// wire_bytes_per_step, hit_rate, phases_ms {data, merge, ...}, workers [{name, step_ms,
// phases_ms}], ps_nodes [{name, rows_pulled, hit_rate, bytes, busy_ms}], tables [{name,
// rows_pulled, hit_rate}]}, where each figure is {predicted, actual}, a step, and actual ones come
// from the rest of the report. Times and phases are those of a median step, of the worker that
// wrote the report unless it is named: pull = median step - means of the other phases (all phases
// are scaled alike where that is not between 0 and the mean pull).
// Actual busy_ms leaves out threads of ZeroMQ and RocksDB and includes tests between steps;
// predicted busy_ms does the opposite. null for a report without a prediction.
nlohmann::ordered_json PredictionToJson(const RunReport& report);

// "predicted / actual: step 12.3 / 11.9 ms, ...", a line for each worker and each PS node, and what
// bounds the step. Above kMaxShownRanks ranks of a kind: minimum, median, maximum. "" without a
// prediction.
inline constexpr size_t kMaxShownRanks = 8;
std::string PredictionText(const RunReport& report);

}  // namespace rowhouse
