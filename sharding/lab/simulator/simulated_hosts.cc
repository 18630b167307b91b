#include "sharding/lab/simulator/simulated_hosts.h"

#include <algorithm>

namespace rowhouse {

HostCores::HostCores(uint32_t cores, std::span<const uint32_t> busy_threads)
    : cores_(cores), hosts_(busy_threads.size()) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].is_crowded = busy_threads[i] > cores;
    is_any_crowded_ = is_any_crowded_ || hosts_[i].is_crowded;
  }
}

double HostCores::RunShard(uint32_t host, double start_ms, double ms, double threads) {
  Host& at = hosts_[host];
  if (!at.is_crowded) return start_ms + ms;
  const double work_ms = ms * threads / cores_;
  at.shards_done_ms = std::max(at.shards_done_ms, start_ms) + work_ms;
  at.all_done_ms = std::max(at.all_done_ms, start_ms) + work_ms;
  return std::max(start_ms + ms, at.shards_done_ms);
}

double HostCores::RunWorker(uint32_t host, double start_ms, double ms, double threads) {
  Host& at = hosts_[host];
  if (!at.is_crowded) return start_ms + ms;
  at.all_done_ms = std::max(at.all_done_ms, start_ms) + ms * threads / cores_;
  return std::max(start_ms + ms, at.all_done_ms);
}

}  // namespace rowhouse
