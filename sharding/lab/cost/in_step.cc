#include "sharding/lab/cost/in_step.h"

namespace rowhouse {

std::string InStep::ConstantOf(const NamedStepPhase& phase) {
  return std::string("in_step_") + phase.name;
}

InStep InStep::Of(const Machine& machine) {
  InStep factors = Typical();
  const auto take = [&](const std::string& constant, double* value) {
    const auto found = machine.constants.find(constant);
    if (found != machine.constants.end()) *value = found->second.value;
  };
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    take(ConstantOf(phase), &(factors.phases.*phase.value));
  }
  take("in_step_store", &factors.store);
  take("in_step_loss_ns_per_sample", &factors.loss_ns_per_sample);
  take("in_step_exchange_cores", &factors.exchange_cores);
  take("in_step_jitter", &factors.jitter);
  return factors;
}

}  // namespace rowhouse
