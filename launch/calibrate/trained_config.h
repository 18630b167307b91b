// TrainedConfig: a training run whose step time, bytes, load and hit rate are predicted and
// measured. Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

struct TrainedConfig {
  std::string name;  // "bags of 20, pooled on shards"
  uint32_t ps = 1;
  uint32_t workers = 1;
  uint64_t steps = 150;

  // Equal tables.
  uint32_t tables = 8;
  uint64_t rows = 100'000;  // of each
  uint32_t dim = 16;
  std::string kind = "kind: plain";  // with its options, as in a YAML file
  std::string precision = "f32";
  std::string optimizer = "adagrad";
  uint32_t bag_length = 1;
  double zipf_exponent = 1.05;

  std::string bottom_mlp = "13, 64";  // its last width is dim
  std::string top_mlp = "64, 1";
  std::string interaction = "dot";
  uint32_t batch = 1024;

  std::string strategy = "row_wise";
  std::string pool_on = "workers";
  uint64_t cache_mb = 1024;  // of a PS node

  // As a file for --config.
  std::string Yaml() const;
  // Complete and valid. kInternal if they are not.
  Result<Settings> MakeSettings() const;
};

// What the model says of the configuration on this machine.
Result<StepCost> PredictConfig(const TrainedConfig& config, const Machine& machine);

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

// Trains it by mpirun of this program, as an operator would. kInternal, with what it printed, if
// the run fails.
Result<MeasuredStep> TrainOnce(const TrainedConfig& config);

// Of a report.json. kInternal, naming what is missing.
Result<MeasuredStep> MeasuredStepOf(const nlohmann::json& report);

// Reference runs: a few small models, none of those that are judged, trained for real to see how a
// step differs from its kernels, and how fast the machine is now.
//
// A kernel takes longer inside a step than when it is measured again and again: other phases have
// filled the processor's caches, and threads were asleep. The cost model multiplies each phase by a
// factor (InStep of sharding/lab/cost/machine.h); FitInStep makes them the constants
// "in_step_<phase>" of the machine. The model's own factors, for machines that were not calibrated,
// were fitted to the judged configurations (docs/cost_model.md); these here are not.
struct ReferenceRun {
  TrainedConfig config;
  MeasuredStep step;
};

std::vector<TrainedConfig> ReferenceConfigs();

// Trains them once. `on_run`: called before each; an error ends it.
Result<std::vector<ReferenceRun>> TrainReferences(
    const std::function<Status(const std::string& name)>& on_run);

// Fits the factor of each phase, so that the phase's times over all runs sum up to what was
// measured. Requires runs of one worker.
Status FitInStep(const std::vector<ReferenceRun>& runs, Machine* machine);

}  // namespace rowhouse
