// Where a run begins in its data.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/run/run_start.h"
#include "launch/run/worker_setup.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// Collective; all workers return the same. A run that does not go on from a model begins with the
// first sample of its data. One that does:
//   on the data of its last run (the same content, chosen by the same settings): with the next
//     sample of the epoch, to the bits of a run that never stopped;
//   on other data: with their first sample. Then sets start->job.load.data_first_step.
// The worker that prints says which. kUsage for data that differ between hosts, and for data that
// were not mapped as the model's were.
Status FindPlaceInData(const WorkerSetup& setup, RunStart* start, Dataset& data);

}  // namespace rowhouse
