// RunStart: what the first worker decides for all: the job, of a new model or of a saved one, and
// the dense part that training goes on from.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "sharding/tables/job_spec.h"
#include "worker/data/dataset.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

struct RunStart {
  JobSpec job;
  std::vector<float> dense;  // parameters and optimizer state of a loaded model; else empty
  DatasetState data;         // what the data source kept with a loaded model
};

// The first of `workers` makes the plan, looks into the model directory (and empties it if
// --overwrite says so) and sees to it that the run's outputs can be written; every one gets the
// same, or the same error. Requires settings that are Validate()d. kUsage for what the operator can
// mend: outputs, a plan that cannot be had, a model that is in the way, missing, or of other
// settings or rows; kCorruption for a saved model that is not what was written.
Result<RunStart> ShareStart(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                            Communicator& workers);

}  // namespace rowhouse
