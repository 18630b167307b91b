#include "sharding/lab/cost/worker_memory.h"

#include <algorithm>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

// Of gradients: where they are summed, and what the sum sends, receives and gathers.
constexpr double kCopies = 4;
constexpr double kFlags = 2;  // that are summed with the gradients

}  // namespace

double BytesOnWorker(const TableSpec& table, double rows) {
  // With each row's gradient goes the number of its lookups.
  const double gradients = (table.dim + 1.0) * sizeof(float);
  return rows * (static_cast<double>(RecordBytes(table)) + kCopies * gradients);
}

double BytesOfDensePart(const DenseShape& dense) {
  const auto parameters = static_cast<double>(dense.parameters);
  // Gradients are made where they are summed.
  const double kept = parameters * (1 + dense.state_floats);
  return (kept + kCopies * (parameters + kFlags)) * sizeof(float);
}

uint64_t WorkerMemoryLimit(const ClusterShape& cluster, const Machine& machine) {
  if (cluster.worker_memory_bytes > 0) return cluster.worker_memory_bytes;
  const uint64_t hosts = std::max(1u, cluster.hosts);
  const uint64_t ranks = uint64_t{cluster.ps} + cluster.workers;
  return machine.memory_bytes / std::max<uint64_t>(1, (ranks + hosts - 1) / hosts);
}

double RowsOnWorker(const TableSpec& table, const Plan& plan) {
  return static_cast<double>(plan.is_on_workers(table.id) ? table.rows
                                                          : plan.worker_rows(table.id).size());
}

double BytesOnWorker(const Workload& workload, const Plan& plan) {
  double bytes = BytesOfDensePart(workload.dense);
  for (const TableSpec& table : workload.tables.physical) {
    bytes += BytesOnWorker(table, RowsOnWorker(table, plan));
  }
  return bytes;
}

}  // namespace rowhouse
