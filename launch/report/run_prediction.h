// RunPrediction: what the cost model says of a run, for its report: predicted beside actual.
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

// Of a run of so many steps, over so many hosts. `goes_on`: it began with a saved model. kUsage if
// the calibration or the access counts cannot be read or lack something.
struct RunToPredict {
  uint32_t ps = 1;
  uint32_t shards_per_ps = 1;
  uint32_t workers = 1;
  uint32_t hosts = 1;
  uint32_t cores = 0;  // of a host; 0: as the machine's
  uint64_t steps = 0;
  uint64_t samples = 0;  // of these steps, over all workers; 0: of whole mini-batches
  bool goes_on = false;
};
Result<RunPrediction> PredictRun(const Settings& settings, const Plan& plan,
                                 const RunToPredict& run);

// {calibration, warning, ids, steps, bound, busy_threads, is_oversubscribed, step_ms,
// wire_bytes_per_step, hit_rate, phases_ms {data, merge, ...}, workers [{name, step_ms,
// phases_ms}], ps_nodes [{name, rows_pulled, hit_rate, bytes, busy_ms}], tables [{name,
// rows_pulled, hit_rate}]}, where each figure is {predicted, actual}, a step, and actual ones come
// from the rest of the report. Times and phases are those of a median step (ActualSteps), of the
// worker that wrote the report unless it is named. Of busy_ms the actual one has no threads of
// ZeroMQ and RocksDB, which the predicted one has, but the tests that were made between steps. null
// for a report without a prediction.
nlohmann::ordered_json PredictionToJson(const RunReport& report);

}  // namespace rowhouse
