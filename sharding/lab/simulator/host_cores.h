// HostCores: the cores of hosts, for which the threads of their ranks compete.
//
// The work of a host is a fluid: what begins ends no earlier than by its own length, and no earlier
// than the host, with all its cores, has done what was asked of it before. Where all work begins at
// once, as in the phases of synchronous steps, the last end is that of processor sharing. Shards
// come first, as the kernel runs a thread that wakes before one that has computed for long: their
// work delays that of workers, and is not delayed by it. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rowhouse {

class HostCores {
 public:
  // `busy_threads`: of each host, the most that want a core at once. A host with no more of them
  // than cores delays nothing.
  HostCores(uint32_t cores, std::span<const uint32_t> busy_threads);

  // When work that begins at `start_ms` ends, on `threads` cores for `ms` each. Calls are made in
  // the order of their starts.
  double RunShard(uint32_t host, double start_ms, double ms, double threads);
  double RunWorker(uint32_t host, double start_ms, double ms, double threads);

  bool is_crowded(uint32_t host) const { return hosts_[host].is_crowded; }
  bool is_any_crowded() const { return is_any_crowded_; }

 private:
  struct Host {
    bool is_crowded = false;
    double shards_done_ms = 0;  // when all work of shards so far is done
    double all_done_ms = 0;     // likewise, of workers as well
  };
  const double cores_;
  std::vector<Host> hosts_;
  bool is_any_crowded_ = false;
};

}  // namespace rowhouse
