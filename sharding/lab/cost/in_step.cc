#include "sharding/lab/cost/in_step.h"

namespace rowhouse {

InStep InStep::Of(const Machine& machine) {
  InStep factors = Typical();
  const auto take = [&](const char* name, double* value) {
    const auto found = machine.constants.find(std::string("in_step_") + name);
    if (found != machine.constants.end()) *value = found->second.value;
  };
  take("data", &factors.data);
  take("merge", &factors.merge);
  take("row_gradients", &factors.row_gradients);
  take("pool", &factors.pool);
  take("mlp", &factors.mlp);
  take("interaction", &factors.interaction);
  take("pool_backward", &factors.pool_backward);
  take("dense_update", &factors.dense_update);
  take("pull", &factors.pull);
  take("push", &factors.push);
  take("store", &factors.store);
  take("loss_ns_per_sample", &factors.loss_ns_per_sample);
  take("exchange_cores", &factors.exchange_cores);
  take("jitter", &factors.jitter);
  return factors;
}

}  // namespace rowhouse
