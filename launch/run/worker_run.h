// WorkerRun: what a worker rank does from meeting the PS nodes to the saved model.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "launch/settings/settings.h"
#include "worker/client/rendezvous.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

struct WorkerRunOptions {
  std::string host;                // this worker's
  std::vector<NodeAddress> nodes;  // of the run, by node number
  uint32_t shards_per_node = 1;
  std::vector<std::string> hosts;  // of all ranks, each once; for the report
  std::string started_at;          // "2025-01-31T12:00:00Z"
  bool prints = true;              // rank 0's worker
};

// Trains, evaluates, saves and prints the outcome. Fails on every worker alike where the failure is
// found before training starts, or is one of model or data, or of saving (`*is_agreed` is true
// then: nobody is left waiting); else only where it happened, and the caller has to end the others.
// `saving`: the same workers with the patience that saving takes.
Status RunWorker(const Settings& settings, const WorkerRunOptions& options, Communicator& workers,
                 Communicator& saving, Transport& transport, const Clock& clock,
                 const std::atomic<bool>& stop, bool* is_agreed);

}  // namespace rowhouse
