// What ranks share on simulated hosts, and by how much phases differ from their predicted times.
// Threads: one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/random.h"

namespace rowhouse {

// The cores of hosts, for which the threads of their ranks compete.
//
// The work of a host is a fluid. Work that begins takes at least its own length, and does not end
// before the host, with all its cores, has done what was asked of it before. Where all work begins
// at once, as in the phases of synchronous steps, the last end is that of processor sharing. Shards
// come first, as the kernel runs a thread that wakes before one that has computed for long: their
// work delays that of workers, and is not delayed by it.
class HostCores {
 public:
  // `busy_threads`: of each host, the most that want a core at once. A host with no more of them
  // than cores delays nothing.
  HostCores(uint32_t cores, std::span<const uint32_t> busy_threads)
      : cores_(cores), hosts_(busy_threads.size()) {
    for (size_t i = 0; i < hosts_.size(); ++i) hosts_[i].is_crowded = busy_threads[i] > cores;
  }

  // When work that begins at `start_ms` ends, on `threads` cores for `ms` each. Calls are made in
  // the order of their starts.
  double RunShard(uint32_t host, double start_ms, double ms, double threads) {
    Host& at = hosts_[host];
    if (!at.is_crowded) return start_ms + ms;
    at.shards_done_ms = std::max(at.shards_done_ms, start_ms) + ms * threads / cores_;
    at.all_done_ms = std::max(at.all_done_ms, start_ms) + ms * threads / cores_;
    return std::max(start_ms + ms, at.shards_done_ms);
  }
  double RunWorker(uint32_t host, double start_ms, double ms, double threads) {
    Host& at = hosts_[host];
    if (!at.is_crowded) return start_ms + ms;
    at.all_done_ms = std::max(at.all_done_ms, start_ms) + ms * threads / cores_;
    return std::max(start_ms + ms, at.all_done_ms);
  }

 private:
  struct Host {
    bool is_crowded = false;
    double shards_done_ms = 0;  // when all work of shards so far is done
    double all_done_ms = 0;     // likewise, of workers as well
  };
  const double cores_;
  std::vector<Host> hosts_;
};

// The network of hosts. Each host has one link out and one in, of equal bandwidth, which
// its ranks share in the order in which they send; between hosts there is a delay, and the network
// itself is never short. Bytes pass through: a message leaves the receiver's link no earlier than
// the sender's, but does not wait to be whole in between.
class HostLinks {
 public:
  // gbits 0: messages take no time. `round_trip_us`: there and back.
  HostLinks(uint32_t hosts, double gbits, double round_trip_us)
      : ms_per_byte_(gbits > 0 ? 8e-6 / gbits : 0),
        delay_ms_(round_trip_us / 2e3),
        out_free_ms_(hosts),
        in_free_ms_(hosts) {}

  // When bytes that begin to be sent at `start_ms`, or as soon as the link is free, have been sent.
  double Send(uint32_t host, double start_ms, double bytes) {
    return Use(&out_free_ms_[host], start_ms, bytes);
  }
  // When bytes that begin to arrive at `start_ms` have been received.
  double Receive(uint32_t host, double start_ms, double bytes) {
    return Use(&in_free_ms_[host], start_ms, bytes);
  }
  double Ms(double bytes) const { return bytes * ms_per_byte_; }
  double delay_ms() const { return delay_ms_; }

 private:
  double Use(double* free_ms, double start_ms, double bytes) const {
    return *free_ms = std::max(*free_ms, start_ms) + Ms(bytes);
  }

  const double ms_per_byte_, delay_ms_;
  std::vector<double> out_free_ms_, in_free_ms_;
};

// By how much a phase of a rank takes longer than predicted. The factor is log-normal
// with mean 1; a draw depends on seed, rank, step and phase alone.
class RankSpeed {
 public:
  static constexpr uint32_t kPhases = 16;

  // `jitter`: standard deviation of the factor; 0: every phase takes as long as predicted.
  RankSpeed(uint64_t seed, double jitter)
      : key_(MixKey(seed, 2)), sigma_(std::sqrt(std::log1p(jitter * jitter))) {}

  // What the predicted time is multiplied by. Requires phase < kPhases. For what is of no rank,
  // `rank` is any number that no rank has.
  double Jitter(uint32_t rank, uint64_t step, uint32_t phase) const {
    if (sigma_ == 0) return 1;
    const uint64_t key = MixKey(key_, rank);
    const uint64_t draw = 2 * (step * kPhases + phase);
    const double normal = ToNormal(MixBits(key, draw), MixBits(key, draw + 1));
    return std::exp(-sigma_ * sigma_ / 2 + sigma_ * normal);
  }

 private:
  uint64_t key_;
  double sigma_;  // of the factor's logarithm
};

}  // namespace rowhouse
