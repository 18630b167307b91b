// Rendezvous: a worker says HELLO to the PS nodes of its run, and BYE at the end.
//
// Threads: one caller; `stop` may be set from a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/types.h"
#include "sharding/plans/job_spec.h"
#include "worker/client/shard_address.h"

namespace rowhouse {

// One PS node as the run's ranks or --ps_endpoints name it.
struct NodeAddress {
  std::string endpoint;  // "tcp://host:port"
  std::string name;      // "PS node 1 (rank 1 on host a)", for logs and errors
};

struct RendezvousOptions {
  WorkerRank worker{};
  uint64_t session = 0;  // of the worker's PeerName
  std::string host;      // this worker's
  // For all nodes to answer. A node that opens its rows may take longer than that, as long as it
  // says so and does not stand still for so long.
  uint32_t deadline_ms = 60000;
  const std::atomic<bool>* stop =
      nullptr;  // once true, the call ends with kUnavailable; null: none
  // Whether shards of this host are reached by their Unix sockets. All others are by TCP.
  bool uses_local_sockets = true;
  // Called with a line for people, every ten seconds, while nodes open their rows; null: none.
  std::function<void(const std::string& line)> tell = nullptr;
};

// Says HELLO to every node (index = node number) and waits for all answers. Returns the shards of
// all nodes, in ShardId order. Asks again once a second while nodes are opening: those that are
// open would take a silent worker for dead. An error that a node answers is returned as it is;
// kDeadlineExceeded and kUnavailable name the nodes that did not answer, or stand still.
Result<std::vector<ShardAddress>> MeetNodes(const RendezvousOptions& options, const JobSpec& job,
                                            const std::vector<NodeAddress>& nodes,
                                            Transport& transport, const Clock& clock);

// Tells every node that this worker sends nothing more, and waits for their answers. Errors as
// above.
Status PartFromNodes(const RendezvousOptions& options, uint64_t job_id,
                     const std::vector<NodeAddress>& nodes, Transport& transport,
                     const Clock& clock);

// NodesOpening: how far PS nodes are with opening their rows, as they say in their answers to
// HELLO, and what is told to people about it.
//
// Threads: one.
class NodesOpening {
 public:
  explicit NodesOpening(size_t nodes) : nodes_(nodes) {}

  // Node `n` has opened `done` of `total` bytes; 0: it does not know how many there are. Returns
  // whether it has moved since it was noted last.
  bool Note(size_t n, uint64_t done, uint64_t total, TimeMs now);
  // It is open.
  void NoteOpen(size_t n) { nodes_[n].reset(); }

  // "opens its rows, 3.2 of 10.0 GB"; "" for a node that is open, or said nothing.
  std::string StateOf(size_t n) const;

  // "PS node 1 on a opens its rows, 3.2 of 10.0 GB, about 25 s left (2 nodes more)": the node
  // that has the longest way to go. "" if none is opening.
  std::string Line(const std::vector<std::string>& names, TimeMs now) const;

 private:
  struct Node {
    uint64_t done = 0;
    uint64_t total = 0;
    uint64_t done_at_first = 0;
    TimeMs noted_first_at = 0;

    // nullopt: not known.
    std::optional<double> SecondsLeft(TimeMs now) const;
  };

  std::vector<std::optional<Node>> nodes_;
};

}  // namespace rowhouse
