// Steps with round numbers for tests of the simulation.
#pragma once

#include "sharding/lab/simulator/step_work.h"

namespace rowhouse {

// `ps` nodes and `workers`, each on a host of its own with cores enough and a network that takes no
// time. A worker alone takes 1 + 1 + (1 + 2) + 10 + (1 + 1) + 2 = 19 ms a step, of which 2 ms wait
// for pulls and 1 ms for pushes; and 0.5 ms pass until a push is applied.
inline StepWork WorkByHand(uint32_t workers, uint32_t ps) {
  StepWork work{.workers = workers, .samples = 100.0 * workers};
  work.phases = {.data = 1,
                 .merge = 1,
                 .pull = 1,
                 .pool = 2,
                 .mlp = 5,
                 .interaction = 1,
                 .pool_backward = 2,
                 .push = 1,
                 .dense_update = 2};
  work.ps.assign(ps, {.pull_ms = 2,
                      .push_ms = 1,
                      .apply_ms = 0.5,
                      .pull_request_bytes = 80,
                      .pull_reply_bytes = 640,
                      .push_bytes = 720,
                      .rows_pulled = 10,
                      .rows_pushed = 10});
  DealRanks(workers + ps, &work);
  return work;
}

}  // namespace rowhouse
