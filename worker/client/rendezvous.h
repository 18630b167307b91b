// Rendezvous: a worker meets the PS nodes of its run (HELLO) and parts from them (BYE).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/types.h"
#include "sharding/tables/job_spec.h"
#include "worker/client/ps_client.h"

namespace rowhouse {

// One PS node as the run's ranks or --ps_endpoints name it.
struct NodeAddress {
  std::string endpoint;  // "tcp://host:port"
  std::string name;      // "PS node 1 (rank 1 on host a)", for messages to people
};

struct RendezvousOptions {
  WorkerRank worker{};
  std::string host;              // this worker's
  uint32_t deadline_ms = 60000;  // for all nodes to answer, opening their stores included
  const std::atomic<bool>* stop = nullptr;  // once true, nothing is waited for any more
};

// Says HELLO to every node (index = node number) and waits for all answers. Shards in ShardId
// order. A node's refusal comes back as it was said; kDeadlineExceeded names the nodes that did
// not answer.
Result<std::vector<ShardAddress>> MeetNodes(const RendezvousOptions& options, const JobSpec& job,
                                            const std::vector<NodeAddress>& nodes,
                                            Transport& transport, const Clock& clock);

// Tells every node that this worker is done; waits for their answers, at most the deadline.
Status PartFromNodes(const RendezvousOptions& options, uint64_t job_id,
                     const std::vector<NodeAddress>& nodes, Transport& transport,
                     const Clock& clock);

}  // namespace rowhouse
