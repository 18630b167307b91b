// RunPrediction: what the cost model says of a run, for its report: predicted beside actual.
//
// Threads: pure, but for reading files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/settings/settings.h"
#include "sharding/cost/step_cost.h"
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
  uint64_t steps = 0;
  bool goes_on = false;
};
Result<RunPrediction> PredictRun(const Settings& settings, const Plan& plan,
                                 const RunToPredict& run);

// {calibration, warning, ids, bound, busy_threads, is_oversubscribed, step_ms, wire_bytes_per_step,
// hit_rate, phases_ms {data, merge, ...}, ps_nodes [{rows_pulled, hit_rate, bytes, busy_ms}],
// tables [{name, rows_pulled, hit_rate}]}, where each figure is {predicted, actual}, a step, and
// actual ones come from the rest of the report; nobody counts a node's bytes. Phases are those
// of a median step: of the pull what the others' means leave of it, as the first steps' time is in
// pulls. Of busy_ms the actual
// one has no ZeroMQ threads, which the predicted one has. null for a report without a prediction.
nlohmann::ordered_json PredictionToJson(const RunReport& report);

// "predicted / actual: step 12.3 / 11.9 ms, ...", a line for each of the first PS nodes if there
// are several, and what bounds the step. "" without a prediction.
std::string PredictionText(const RunReport& report);

}  // namespace rowhouse
