// InStep: how much longer a kernel takes inside a step than when it is measured again and again,
// as calibration does: other phases have filled the processor's caches, and threads were asleep.
//
// The factors were fitted to training runs on a quiet host of two cores (docs/cost_model.md has
// the runs); a machine's constants "in_step_<phase>" override them. Threads: pure functions.
#pragma once

#include "sharding/cost/machine.h"

namespace rowhouse {

struct InStep {
  double data = 1.06;
  double merge = 1.8;
  double row_gradients = 1.85;
  double pool = 2.9;
  double mlp = 1.05;
  double interaction = 1.3;
  double pool_backward = 1.8;
  double dense_update = 1.6;
  double pull = 1.35;
  double push = 1.35;
  double store = 1.35;
  // Activations, loss and its gradient, beside the products: ns a sample.
  double loss_ns_per_sample = 90;
  // The share of a host's cores that the threads of pulls and pushes of rows keep busy at once.
  double exchange_cores = 0.55;
  // Workers of a host that share its cores wait for each other: standard deviation of a step's
  // time between them, as a share of it.
  double jitter = 0.1;

  static InStep Of(const Machine& machine);
};

}  // namespace rowhouse
