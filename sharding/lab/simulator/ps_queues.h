// PsQueues: PS nodes that answer pulls and take pushes in the order of arrival, behind the links of
// their hosts. A call handles one request of a worker to all PS nodes, so that a run takes a few
// events a worker and step however many nodes there are.
//
// A pull waits until the step before is applied (parked), then behind the requests that came before
// it (queued). Calls are made in the order of their starts. Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sharding/lab/simulator/simulated_hosts.h"
#include "sharding/lab/simulator/step_work.h"

namespace rowhouse {

// Of one PS node, over a run.
struct PsTotals {
  double busy_ms = 0;        // of a shard's thread: the store has threads of its own
  double wait_ms = 0;        // of all requests in queues
  double longest_queue = 0;  // requests, that which is being served included; updates are none
};

class PsQueues {
 public:
  // All references outlive it.
  PsQueues(const StepWork& work, const RankSpeed& speed, HostLinks& links, HostCores& cores);

  // Begins at `start_ms` on a worker's host and sees the steps before. Returns when all replies are
  // there. Requires that all workers have pushed the step before.
  double Pull(uint32_t host, double start_ms, uint64_t step);

  // Returns when all PS nodes have the push of `step`, which is applied when it was the last one.
  double Push(uint32_t host, double start_ms, uint64_t step);

  const std::vector<PsTotals>& totals() const { return totals_; }
  uint64_t requests() const { return requests_; }  // to each PS node
  // When a PS node's shards have done all that they were asked for, the last update included.
  double end_ms(uint32_t node) const { return free_ms_[node]; }

 private:
  struct Asked {  // by one worker: bytes over the network, all PS nodes together
    double pull_request = 0, pull_reply = 0, push = 0;
  };
  void DrawSpeeds(uint64_t step);
  // When a request begins to be at a PS node, and when all of it is there.
  struct Arrival {
    double first_ms = 0, last_ms = 0;
  };
  // Returns when it has been served.
  double Serve(uint32_t node, const Arrival& arrival, double ms, double load);
  // A request that comes at `ready_ms` and has been served at `end_ms`.
  void Queue(uint32_t node, double ready_ms, double end_ms);
  void Apply(uint64_t step);
  // What a step asks of the store, from when it is applied.
  void Store(uint32_t node);

  const StepWork& work_;
  const RankSpeed& speed_;
  HostLinks& links_;
  HostCores& cores_;

  std::vector<Asked> asked_;     // by a worker of each host
  std::vector<double> free_ms_;  // of each PS node: when what it has been asked is done
  // Of each PS node: end times, ascending, of the requests that were unfinished when the newest one
  // arrived.
  std::vector<std::deque<double>> queued_;
  std::vector<double> slowness_;  // of each PS node in the step under way
  // Of each PS node: when the store has read what the last step asked of it, and the one before.
  std::vector<double> stored_ms_, stored_before_ms_;
  uint64_t speeds_of_step_ = UINT64_MAX;

  std::vector<double> applied_ms_;  // of each PS node: when it has applied the last step
  uint32_t pushes_ = 0;             // of the step under way
  uint64_t applied_steps_ = 0;

  std::vector<PsTotals> totals_;
  uint64_t requests_ = 0;
};

}  // namespace rowhouse
