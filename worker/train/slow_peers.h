// SlowPeers: names a shard or a worker that is much slower than the others, while a run goes on.
//
// Compared are, over 128 steps, the times within which shards have answered this worker's pulls,
// and those that each worker works on a step by itself, without shards and other workers. A peer is
// slow if its 99th percentile is more than three times the median of those of the others, and 50 ms
// longer. That is said once a minute at most.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "worker/client/ps_client.h"
#include "worker/mpi/communicator.h"
#include "worker/train/step_clock.h"

namespace rowhouse {

// Times of several peers that do the same work. Threads: one.
class PeerTimes {
 public:
  explicit PeerTimes(size_t peers) : ms_(peers) {}

  void Add(size_t peer, float ms) { ms_[peer].push_back(ms); }

  struct Slow {
    size_t peer = 0;
    double p99_ms = 0.0;
    double others_ms = 0.0;  // the median of the others' 99th percentiles
  };
  // The slowest peer, if it is slow; of the times since the last call. Fewer than 32 of a peer say
  // nothing of it.
  std::optional<Slow> TakeSlowest();

 private:
  std::vector<std::vector<float>> ms_;  // by peer
};

// Threads: the trainer's.
class SlowPeers {
 public:
  // All outlive it.
  SlowPeers(const PsClient& client, const StepClock& steps, Communicator& workers,
            const Clock& clock);

  // After each step; collective. Lines that name who is slow, on rank 0; else "".
  Result<std::string> AfterStep();

 private:
  const PsClient& client_;
  const StepClock& steps_;
  Communicator& workers_;
  const Clock& clock_;
  std::optional<TimeMs> told_at_;
  PeerTimes shards_;
  std::vector<float> own_ms_;  // of each step
  double seconds_ = 0.0;       // of this worker's own work, of all steps
};

}  // namespace rowhouse
