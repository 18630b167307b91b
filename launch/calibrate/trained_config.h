// TrainedConfig: a training run whose step time, bytes, load and hit rate are predicted and
// measured.
//
// Threads: plain data, pure functions.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace rowhouse
