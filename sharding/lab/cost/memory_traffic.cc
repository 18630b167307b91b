#include "sharding/lab/cost/memory_traffic.h"

#include <algorithm>
#include <cmath>

#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

class CountingBytes {
 public:
  CountingBytes(const Workload& workload, const Plan& plan, const CpuMemory& memory)
      : workload_(workload), plan_(plan), memory_(memory), traffic_(TrafficOfStep(workload, plan)) {
    result_.of_shard.resize(plan.shards());
  }

  MemoryTraffic Of() && {
    for (const TableSpec& table : workload_.tables.physical) {
      SumOnWorkers(table);
      if (plan_.is_on_workers(table.id)) {
        UpdateOnWorkers(table, UpdatedRows(table));
      } else {
        CountOnShards(table);
      }
    }
    for (size_t f = 0; f < workload_.tables.features.size(); ++f) {
      for (const TableId part : workload_.tables.features[f].parts) Pool(f, part);
    }
    return result_;
  }

 private:
  double workers() const { return workload_.step.workers; }

  void AddToShard(ShardId shard, double bytes, double* kind) {
    result_.of_shard[Raw(shard)] += bytes;
    *kind += bytes;
  }

  void AddToEachWorker(double bytes, double* kind) {
    result_.of_worker += bytes;
    *kind += workers() * bytes;
  }

  static RecordLayout Layout(const TableSpec& table, uint32_t columns) {
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    return LayoutOf(table, *optimizer, columns);
  }

  void CountOnShards(const TableSpec& table) {
    const TableRowsOfStep& rows = traffic_.tables[Raw(table.id)];
    double on_shards = 1;
    IdDistribution scratch;
    const IdDistribution& ids =
        DistributionOnShards(workload_, plan_, table.id, &scratch, &on_shards);
    const double updated = ids.DistinctRows(rows.lookups * on_shards * workers());
    // The rest are single rows on the workers.
    UpdateOnWorkers(table, std::max(0.0, UpdatedRows(table) - updated));
    for (const Slice& slice : plan_.slices(table.id)) {
      const double share = static_cast<double>(slice.rows()) / static_cast<double>(table.rows);
      const RecordLayout layout = Layout(table, slice.columns());
      const auto weights = static_cast<uint32_t>(layout.weight_bytes());
      if (!plan_.pools_on_shards(table.id)) {
        AddToShard(slice.shard, workers() * rows.distinct_rows * share * CpuLineBytes(weights),
                   &result_.pull);
      }
      if (workload_.tables.is_frozen[Raw(table.id)]) continue;
      const auto record = static_cast<uint32_t>(layout.bytes());
      AddToShard(slice.shard, CpuUpdateBytes(updated * share, record, 0), &result_.update);
    }
  }

  // Of a table, wherever its rows are: those that some worker looks up.
  double UpdatedRows(const TableSpec& table) const {
    return workload_.of_table[Raw(table.id)].DistinctRows(traffic_.tables[Raw(table.id)].lookups *
                                                          workers());
  }

  // Every worker updates its own copy of those that any worker looked up.
  void UpdateOnWorkers(const TableSpec& table, double rows) {
    if (workload_.tables.is_frozen[Raw(table.id)]) return;
    const auto state = static_cast<uint32_t>(Layout(table, table.dim).state_floats);
    AddToEachWorker(CpuUpdateBytes(rows, 4 * table.dim, 4 * state), &result_.update);
  }

  // With each row's gradient goes the number of its lookups. They are set to zero; and what is
  // summed is copied four times: sent, received, gathered, and put back
  // (worker/mpi/mpi_communicator.h).
  void SumOnWorkers(const TableSpec& table) {
    constexpr double kTimes = 1 + 4 * 2;
    AddToEachWorker(kTimes * RowsOnWorker(table, plan_) * (table.dim + 1.0) * sizeof(float),
                    &result_.sum);
  }

  // Workers pool the distinct rows that they pulled, which lie one behind the other, and single hot
  // ones beside them; shards, and workers that have a table, read them where they lie.
  void Pool(size_t feature, TableId part) {
    const TableSpec& table = workload_.tables.physical[Raw(part)];
    const TableRowsOfStep& rows = traffic_.tables[Raw(part)];
    const bool is_in_place = plan_.is_on_workers(part) || plan_.pools_on_shards(part);
    const double distinct = workload_.of_table[Raw(part)].DistinctRows(rows.lookups);
    if (distinct <= 0) return;
    // Shards read rows as they are stored; workers have them in f32.
    const size_t of_weight = plan_.pools_on_shards(part)
                                 ? Layout(table, table.dim).weight_bytes() / table.dim
                                 : sizeof(float);
    const CpuLookup lookup = {.samples = static_cast<double>(workload_.step.samples) / workers(),
                              .rows = is_in_place ? static_cast<double>(table.rows) : distinct,
                              .bag_length = workload_.step.bag_lengths[feature],
                              .dim = table.dim,
                              .element_bytes = static_cast<uint32_t>(of_weight),
                              .distinct_rows = distinct};
    double bytes = CpuLookupForward(lookup, memory_).dram_bytes;
    if (!workload_.tables.is_frozen[Raw(part)]) bytes += CpuUpdateBytes(distinct, 4 * table.dim, 0);
    if (!plan_.pools_on_shards(part)) return AddToEachWorker(bytes, &result_.pool);
    const double floats = static_cast<double>(table.rows) * table.dim;
    for (const Slice& slice : plan_.slices(part)) {
      const double share = static_cast<double>(slice.rows()) * slice.columns() / floats;
      AddToShard(slice.shard, workers() * bytes * share, &result_.pool);
    }
  }

  const Workload& workload_;
  const Plan& plan_;
  const CpuMemory& memory_;
  const StepTraffic traffic_;
  MemoryTraffic result_;
};

}  // namespace

double CpuLineBytes(double bytes) { return std::ceil(bytes / 64) * 64; }

CpuLookupCost CpuLookupForward(const CpuLookup& lookup, const CpuMemory& memory) {
  const double lookups = lookup.samples * lookup.bag_length;  // of a table
  const double row = CpuLineBytes(double{1} * lookup.dim * lookup.element_bytes);
  const double distinct = lookup.distinct_rows ? *lookup.distinct_rows
                          : lookup.rows <= 1
                              ? std::min(1.0, lookups)
                              : -lookup.rows * std::expm1(lookups * std::log1p(-1 / lookup.rows));
  const double cached = std::floor(0.9 * memory.llc_bytes / lookup.tables / row);
  const double misses = distinct <= cached
                            ? distinct
                            : cached + (lookups - cached) * (lookup.rows - cached) / lookup.rows;
  CpuLookupCost cost;
  cost.miss_rows = misses * lookup.tables;
  const double results = lookup.samples * lookup.tables *
                         (CpuLineBytes(8 * lookup.bag_length) + CpuLineBytes(4.0 * lookup.dim));
  cost.dram_bytes = cost.miss_rows * row + results;
  cost.dram_us = cost.dram_bytes / memory.dram_gbs / 1e3;
  cost.llc_us = (lookups * lookup.tables - cost.miss_rows) * row / memory.llc_gbs / 1e3;
  cost.latency_us =
      cost.miss_rows * memory.latency_ns / 1e3 / (memory.outstanding_misses * lookup.threads);
  cost.us = std::max({cost.dram_us, cost.llc_us, cost.latency_us}) + memory.call_us;
  return cost;
}

double CpuUpdateBytes(double distinct_rows, uint32_t row_bytes, uint32_t state_bytes) {
  return distinct_rows * 2 * (CpuLineBytes(row_bytes) + CpuLineBytes(state_bytes));
}

MemoryTraffic MemoryTrafficOf(const Workload& workload, const Plan& plan, const CpuMemory& memory) {
  return CountingBytes(workload, plan, memory).Of();
}

double BytesOfBusiestHost(const MemoryTraffic& traffic, const ClusterShape& cluster) {
  std::vector<double> hosts(std::max(1u, cluster.hosts));
  const size_t shards_of_node = std::max(1u, cluster.shards_per_ps);
  for (size_t s = 0; s < traffic.of_shard.size(); ++s) {
    hosts[s / shards_of_node % hosts.size()] += traffic.of_shard[s];
  }
  for (size_t w = 0; w < cluster.workers; ++w) {
    hosts[(cluster.ps + w) % hosts.size()] += traffic.of_worker;
  }
  return std::ranges::max(hosts);
}

CpuMemory CpuMemoryOf(const Machine& machine) {
  CpuMemory memory;
  const auto found = machine.constants.find("dram_gbs");
  if (found != machine.constants.end() && found->second.value > 0) {
    memory.dram_gbs = found->second.value;
  }
  if (machine.llc_bytes > 0) memory.llc_bytes = static_cast<double>(machine.llc_bytes);
  return memory;
}

}  // namespace rowhouse
