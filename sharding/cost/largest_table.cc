#include "sharding/cost/largest_table.h"

namespace rowhouse {

std::string LargestTableOn(std::span<const TableSpec> tables, const Plan& plan,
                           uint32_t shards_per_ps, uint32_t node) {
  double most = -1;
  std::string name;
  for (const TableSpec& table : tables) {
    double floats = 0;
    for (const Slice& slice : plan.slices(table.id)) {
      if (slice.shard == kOnWorkers || Raw(slice.shard) / shards_per_ps != node) continue;
      floats += static_cast<double>(slice.rows()) * slice.columns();
    }
    if (floats <= most) continue;
    most = floats;
    name = table.name;
  }
  return name;
}

std::string LargestTableOnWorkers(std::span<const TableSpec> tables, const Plan& plan) {
  double most = 0;
  std::string name;
  for (const TableSpec& table : tables) {
    const auto rows = static_cast<double>(
        plan.is_on_workers(table.id) ? table.rows : plan.worker_rows(table.id).size());
    if (rows * table.dim <= most) continue;
    most = rows * table.dim;
    name = table.name;
  }
  return name;
}

}  // namespace rowhouse
