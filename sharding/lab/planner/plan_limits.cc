#include "sharding/lab/planner/plan_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharding/lab/cost/worker_memory.h"

namespace rowhouse {
namespace {

// "16384.0", "733.5", "12.4", "0.0312".
std::string MibText(double bytes) {
  const double mib = bytes / (1 << 20);
  return mib < 100 ? fmt::format("{:.3g}", mib) : fmt::format("{:.1f}", mib);
}

// The table with most floats where `floats_of` counts them; "": none has any.
std::string LargestTable(const std::vector<TableSpec>& tables, const auto& floats_of) {
  double most = 0;
  std::string name;
  for (const TableSpec& table : tables) {
    const double floats = floats_of(table);
    if (floats <= most) continue;
    most = floats;
    name = table.name;
  }
  return name.empty() ? "" : fmt::format("; most of it is of table \"{}\"", name);
}

}  // namespace

std::string PlanLimits::LargestOnNode(const Plan& plan, size_t node) const {
  return LargestTable(workload_.tables.physical, [&](const TableSpec& table) {
    double floats = 0;
    for (const Slice& slice : plan.slices(table.id)) {
      if (slice.shard == kOnWorkers || Raw(slice.shard) / cluster_.shards_per_ps != node) continue;
      floats += static_cast<double>(slice.rows()) * slice.columns();
    }
    return floats;
  });
}

std::string PlanLimits::WhyTooMuchOnNode(const Plan& plan, const std::vector<double>& bytes,
                                         uint64_t limit, const char* what) const {
  const auto fullest = std::ranges::max_element(bytes);
  const double over = *fullest - static_cast<double>(limit);
  if (limit == 0 || over <= 0) return "";
  const auto node = static_cast<size_t>(fullest - bytes.begin());
  return fmt::format("PS node {} needs {} MiB of {}, {} MiB more than it may have{}", node,
                     MibText(*fullest), what, MibText(over), LargestOnNode(plan, node));
}

std::string PlanLimits::WhyTooMuch(const Plan& plan, const StepCost& cost) const {
  std::string why = WhyTooMuchOnNode(plan, RowBytesOfNodes(workload_, plan, cluster_.shards_per_ps),
                                     limits_.row_bytes, limits_.what);
  if (!why.empty()) return why;
  const double worker = cost.workers.empty() ? 0 : cost.workers.front().memory_bytes;
  const double over = worker - static_cast<double>(limits_.worker_bytes);
  if (limits_.worker_bytes > 0 && over > 0) {
    return fmt::format(
        "each worker needs {} MiB for its rows and layers, {} MiB more than it may have{}",
        MibText(worker), MibText(over),
        LargestTable(workload_.tables.physical, [&](const TableSpec& table) {
          return RowsOnWorker(table, plan) * table.dim;
        }));
  }
  std::vector<double> memory, disk;
  for (const RankCost& node : cost.ps) {
    memory.push_back(node.memory_bytes);
    disk.push_back(node.disk_bytes);
  }
  why = WhyTooMuchOnNode(plan, memory, cluster_.ps_memory_bytes, "memory");
  return why.empty() ? WhyTooMuchOnNode(plan, disk, cluster_.ps_disk_bytes, "disk") : why;
}

double PlanLimits::OverloadOf(const Plan& plan, const StepCost& cost) const {
  double most = 0;
  const auto add = [&most](double bytes, uint64_t limit) {
    if (limit > 0) most = std::max(most, bytes / static_cast<double>(limit));
  };
  for (const double bytes : RowBytesOfNodes(workload_, plan, cluster_.shards_per_ps)) {
    add(bytes, limits_.row_bytes);
  }
  for (const RankCost& node : cost.ps) {
    add(node.memory_bytes, cluster_.ps_memory_bytes);
    add(node.disk_bytes, cluster_.ps_disk_bytes);
  }
  for (const RankCost& worker : cost.workers) {
    add(worker.memory_bytes, limits_.worker_bytes);
  }
  return most;
}

}  // namespace rowhouse
