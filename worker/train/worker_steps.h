// WorkerSteps: what a worker's steps took, and what all workers tell each other of them at the end
// of training. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "worker/mpi/communicator.h"
#include "worker/train/step_phases.h"

namespace rowhouse {

// Of one worker's training steps. Plain bytes, as which it travels.
struct WorkerSteps {
  double median_seconds = 0.0;  // of a step
  StepPhases phases;            // seconds of all steps
};

struct StepsOfAll {
  std::vector<WorkerSteps> workers;  // by rank
  // Of frames to and from each shard in steps, over all workers.
  std::vector<uint64_t> shard_wire_bytes;
};

// Collective: every worker gives its own and has those of all. kInternal if workers know different
// numbers of shards.
Result<StepsOfAll> GatherSteps(const WorkerSteps& mine,
                               const std::vector<uint64_t>& my_shard_wire_bytes,
                               Communicator& workers);

}  // namespace rowhouse
