// RunWorker: what a worker rank does from reading its data to the saved model.
#pragma once

#include "common/status.h"
#include "launch/run/worker_setup.h"

namespace rowhouse {

struct WorkerRunResult {
  Status status;
  // All workers return this status, so nobody is left waiting. False only where a worker failed by
  // itself after training began (a peer or a machine was lost): the caller has to end the others.
  bool is_agreed = true;
};

// Prepares, meets the PS nodes, trains, saves, evaluates, prints the outcome and parts from the
// nodes. Collective: every worker calls it.
WorkerRunResult RunWorker(const WorkerSetup& setup);

}  // namespace rowhouse
