// SimNetwork: messages between simulated workers and shards. Every message takes a random time;
// messages of one connection in one direction arrive in the order in which they were sent, as over
// TCP. Faults are random, too: messages come much later, not at all, or twice (and the second time
// at any time after the first).
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/transport/transport.h"
#include "tests/testing/sim_scheduler.h"

namespace rowhouse {

// What goes wrong. Shares are of all messages, or of all actions of stores, 0 to 1.
struct SimFaults {
  double late = 0.0;        // take up to max_delay_ms longer
  double doubled = 0.0;     // arrive a second time, up to max_delay_ms later
  double lost = 0.0;        // do not arrive
  double slow_store = 0.0;  // actions of stores that take up to max_delay_ms longer
  double no_room = 0.0;     // requests for a checkpoint that find none on the shard's disk
  TimeMs max_delay_ms = 50;
  // Now and then a store finds no room for up to this time, and its shard says BUSY; 0: never.
  TimeMs max_full_ms = 0;
  // Only this message is lost, counted from 0 over the whole run.
  std::optional<uint64_t> lost_message = std::nullopt;
};

class SimNetwork {
 public:
  static constexpr TimeNs kMaxLatency = kNsPerMs;

  // Called when a message of `worker` has arrived at `shard`.
  using OnArrival = std::function<void(size_t shard, size_t worker, Frames frames)>;

  SimNetwork(SimScheduler& scheduler, const SimFaults& faults, size_t workers, size_t shards,
             OnArrival on_arrival);
  ~SimNetwork();

  // The way of a worker, which is task `worker` of the scheduler, to all shards.
  Dialer& dialer(size_t worker);

  // A shard's answer.
  void SendToWorker(size_t shard, size_t worker, Frames frames);

  // Sent so far, by all; lost ones count.
  uint64_t messages() const { return messages_; }

 private:
  class Inbox;
  // One direction between a worker and a shard.
  struct Route {
    uint32_t worker = 0, shard = 0;
    bool is_to_shard = true;
  };
  // The messages of a route.
  struct Connection {
    std::deque<Frames> on_their_way;  // in order
    TimeNs last_arrival = 0;
  };
  void Send(Route route, Frames frames);
  void Arrive(Route route, Frames frames);
  void Note(Route route, const char* what, const Frames& frames) const;
  TimeNs AnyDelay();

  SimScheduler& scheduler_;
  const SimFaults faults_;
  const size_t shards_;
  const OnArrival on_arrival_;
  std::vector<Connection> to_shard_, to_worker_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;  // by worker
  uint64_t messages_ = 0;
};

// A line about a message: type, step, part, bytes and a hash of all bytes.
std::string DescribeFrames(const Frames& frames);

}  // namespace rowhouse
