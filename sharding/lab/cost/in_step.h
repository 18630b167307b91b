// InStep: how much longer a kernel takes inside a step than when it is measured again and again,
// as calibration does: other phases have filled the processor's caches, and threads were asleep.
//
// The factors are the machine's constants "in_step_<phase>", which bench calibrate fits to runs.
// Threads: pure functions.
#pragma once

#include <string>

#include "common/step_phases.h"
#include "sharding/lab/cost/machine.h"

namespace rowhouse {

struct InStep {
  StepPhases phases;  // allreduce and other: not used
  double store = 0;
  // Activations, loss and its gradient, beside the products: ns a sample.
  double loss_ns_per_sample = 0;
  // The share of a host's cores that the threads of pulls and pushes of rows keep busy at once.
  double exchange_cores = 0;
  // Workers of a host that share its cores wait for each other: standard deviation of a step's
  // time between them, as a share of it.
  double jitter = 0;

  // Those that the machine lacks are Typical's.
  static InStep Of(const Machine& machine);
  // The name of a phase's constant.
  static std::string ConstantOf(const NamedStepPhase& phase);
  // As fitted to training runs on a quiet host of two cores (docs/cost_model.md has the runs); with
  // Machine::Typical.
  static InStep Typical();
};

}  // namespace rowhouse
