// rowhouse ckpt reshard: a saved model becomes one for other PS nodes, shards or another plan,
// without a run. Rows move between shards and workers, too.
//
// Threads: the main thread; rows are moved on as many as the CPU has cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

struct ReshardRequest {
  std::string out;  // the new model's directory: none, or one that a killed move began
  // In place of the model's own; nullopt: not given.
  std::optional<int32_t> ps;
  std::optional<uint32_t> shards;
  std::optional<std::string> strategy;
  std::optional<std::string> plan;
  std::string json;  // where figures go (launch/figures/json_output.h)
};

// Makes a model in request.out of the last save in `model.model_dir`, which stays as it is. Its
// rows lie in request.out/rows or, if the new plan keeps them on the workers, at the end of its
// dense file, and have the digest that the manifest names: kCorruption, and no model, if they have
// not. Its config.yaml says how it is divided now. A killed move goes on where it was. kUsage for
// what the operator can mend; kResourceExhausted for a disk without room for the copy.
Status Reshard(const Settings& model, const ReshardRequest& request);

}  // namespace rowhouse
