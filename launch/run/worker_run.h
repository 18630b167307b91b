// RunWorker: what a worker rank does from reading its data to the saved model, and all that it is
// given. Plain references: everything outlives the run.
#pragma once

#include <atomic>
#include <cstdint>
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
  std::vector<NodeAddress> nodes;  // the PS nodes of the run, by node number
  uint32_t shards_per_node = 1;
  uint64_t session = 0;            // of this worker's PeerName
  std::vector<std::string> hosts;  // of all ranks, each once; for the report
  uint32_t cores = 0;              // of the host with the fewest
  bool share_rows = false;         // all ranks, PS nodes among them, see one row directory
  std::string started_at;          // "2025-01-31T12:00:00Z"
  bool prints = true;              // rank 0's worker
  std::string profile = {};        // the value of --profile; "": not given
  // Of all workers, by rank: "worker 1 (rank 3 on a)".
  std::vector<std::string> worker_names = {};
};

struct WorkerSetup {
  const Settings& settings;  // Validate() is OK
  const WorkerRunOptions& options;
  Communicator& workers;
  Communicator& saving;  // the same workers; its deadline is as long as saving may take
  Transport& transport;
  const Clock& clock;
  const std::atomic<bool>& stop;  // set at any time: save and stop after this step
};

struct WorkerRunResult {
  Status status;
  // All workers return this status, so none is left waiting. False only where a worker failed by
  // itself after training began (a peer or a machine was lost): the caller has to end the others.
  bool is_agreed = true;
};

// Prepares, meets the PS nodes, trains, saves, evaluates, prints the outcome and parts from the
// nodes. Collective: every worker calls it.
WorkerRunResult RunWorker(const WorkerSetup& setup);

}  // namespace rowhouse
