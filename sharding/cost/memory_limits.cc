// What workers may have of memory, and words about limits: see step_cost.h.
#include <fmt/format.h>

#include <algorithm>

#include "sharding/cost/step_cost.h"

namespace rowhouse {

uint64_t WorkerMemoryLimit(const ClusterShape& cluster, const Machine& machine) {
  if (cluster.worker_memory_bytes > 0) return cluster.worker_memory_bytes;
  const uint64_t hosts = std::max(1u, cluster.hosts);
  const uint64_t ranks = uint64_t{cluster.ps} + cluster.workers;
  return machine.memory_bytes / std::max<uint64_t>(1, (ranks + hosts - 1) / hosts);
}

std::string WorkerLimitText(const ClusterShape& cluster, uint64_t limit) {
  if (cluster.worker_memory_bytes > 0) return fmt::format("--worker_memory_mb={}", limit >> 20);
  return fmt::format(
      "a rank's share of its host's memory is {} MiB; --worker_memory_mb=N says "
      "another limit",
      limit >> 20);
}

std::string MibText(double bytes) {
  const double mib = bytes / (1 << 20);
  return mib < 100 ? fmt::format("{:.3g}", mib) : fmt::format("{:.1f}", mib);
}

std::string WhyTooMuchOnWorkers(const StepCost& cost, const ClusterShape& cluster,
                                const Machine& machine) {
  const uint64_t limit = WorkerMemoryLimit(cluster, machine);
  const double bytes = cost.workers.empty() ? 0 : cost.workers.front().memory_bytes;
  const double over = bytes - static_cast<double>(limit);
  if (limit == 0 || over <= 0) return "";
  return fmt::format(
      "each worker would need {} MiB for the rows and layers that it has, {} MiB too many ({})",
      MibText(bytes), MibText(over), WorkerLimitText(cluster, limit));
}

std::string SmallerCacheText(const StorageShape& storage, double bytes, uint64_t limit) {
  const auto full = static_cast<double>(storage.cache_bytes);
  if (storage.store == "memory" || full >= bytes) return "";
  const auto cache = static_cast<uint64_t>(full * static_cast<double>(limit) / bytes) >> 20;
  return cache == 0 ? "" : fmt::format("; or --cache_mb={}", cache);
}

}  // namespace rowhouse
