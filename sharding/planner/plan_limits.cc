#include "sharding/planner/plan_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "sharding/cost/largest_table.h"

namespace rowhouse {

std::string PlanLimits::WhyTooMuch(const Plan& plan, const StepCost& cost) const {
  if (limits_.row_bytes > 0) {
    const std::vector<double> bytes = RowBytesOfNodes(workload_, plan, cluster_.shards_per_ps);
    const auto fullest = std::ranges::max_element(bytes);
    const double over = *fullest - static_cast<double>(limits_.row_bytes);
    if (over > 0) {
      const auto node = static_cast<uint32_t>(fullest - bytes.begin());
      return fmt::format(
          "{}: PS node {} would have {} MiB of rows and state, {} MiB too many; most of it "
          "is of table \"{}\"",
          limits_.name, node, MibText(*fullest), MibText(over),
          LargestTableOn(workload_.tables.physical, plan, cluster_.shards_per_ps, node));
    }
  }
  if (std::string why = WhyTooMuchOnWorkers(cost, cluster_, machine_); !why.empty()) {
    const std::string table = LargestTableOnWorkers(workload_.tables.physical, plan);
    return table.empty() ? why : why + fmt::format("; most of it is of table \"{}\"", table);
  }
  for (size_t node = 0; node < cost.ps.size(); ++node) {
    const auto check = [&](double bytes, uint64_t limit, const char* flag,
                           const char* what) -> std::string {
      if (limit == 0 || bytes <= static_cast<double>(limit)) return "";
      return fmt::format(
          "PS node {} would need {} MiB of {}, {} MiB more than {}={}; most of it is of "
          "table \"{}\"",
          node, MibText(bytes), what, MibText(bytes - static_cast<double>(limit)), flag,
          limit >> 20,
          LargestTableOn(workload_.tables.physical, plan, cluster_.shards_per_ps,
                         static_cast<uint32_t>(node)));
    };
    const RankCost& of_node = cost.ps[node];
    std::string why =
        check(of_node.memory_bytes, cluster_.ps_memory_bytes, "--ps_memory_mb", "memory");
    if (!why.empty()) {
      why += SmallerCacheText(workload_.storage, of_node.memory_bytes, cluster_.ps_memory_bytes);
    } else {
      why = check(of_node.disk_bytes, cluster_.ps_disk_bytes, "--ps_disk_mb", "disk");
    }
    if (!why.empty()) return why;
  }
  return "";
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
    add(worker.memory_bytes, WorkerMemoryLimit(cluster_, machine_));
  }
  return most;
}

}  // namespace rowhouse
