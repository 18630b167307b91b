// Workloads and clusters for tests of the planner: plain tables, Zipf ids, a small DLRM.
#pragma once

#include <string>
#include <vector>

#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/strategy.h"
#include "tests/testing/testing.h"

namespace rowhouse {

struct MadeTable {
  uint64_t rows = 1000;
  uint32_t dim = 32;
  double bag = 1;   // lookups a sample
  double zipf = 0;  // exponent
  std::string pooling_sum = "bag_order";
  std::string optimizer = "sgd";
};

inline Workload MadeWorkload(const std::vector<MadeTable>& tables, uint64_t samples = 1024,
                             uint32_t workers = 1) {
  std::vector<LogicalTable> logical;
  Workload workload;
  for (const MadeTable& made : tables) {
    LogicalTable table;
    table.name = "t" + std::to_string(logical.size());
    table.rows = made.rows;
    table.dim = made.dim;
    table.optimizer = made.optimizer;
    table.pooling_sum = made.pooling_sum;
    logical.push_back(table);
    workload.of_table.push_back(
        made.zipf > 0 ? IdDistribution::Zipf(static_cast<double>(made.rows), made.zipf)
                      : IdDistribution::Uniform(static_cast<double>(made.rows)));
    workload.lookups.push_back(made.bag);
    workload.step.bag_lengths.push_back(made.bag);
  }
  workload.tables = EmbeddingTables::Make(logical).value();
  workload.step.samples = samples;
  workload.step.workers = workers;
  const uint32_t dim = tables.front().dim;
  workload.dense = {.bottom = {13, dim},
                    .top = {64, 1},
                    .interaction = "dot",
                    .vectors = static_cast<uint32_t>(tables.size() + 1),
                    .width = dim,
                    .optimizer = "sgd",
                    .parameters = 14 * dim + 65};
  workload.storage = {.has_files = false, .cache_bytes = uint64_t{1} << 30};
  workload.data_source = "synthetic";
  return workload;
}

inline ClusterShape MadeCluster(uint32_t ps, uint32_t workers = 1, uint32_t shards_per_ps = 1) {
  return {.ps = ps,
          .shards_per_ps = shards_per_ps,
          .workers = workers,
          .cores_per_host = 64,
          .hosts = ps + workers,
          .network_gbits = 25,
          .round_trip_us = 30};
}

}  // namespace rowhouse
