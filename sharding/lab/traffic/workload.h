// Workload: what a training run asks of a cluster, and ClusterShape: what the cluster is. The cost
// model, the planner and the simulator take both; launch/prediction/workload_of_run.h makes them
// from settings. Threads: plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharding/lab/traffic/id_distribution.h"
#include "sharding/lab/traffic/lookups_by_row.h"
#include "sharding/rows/record.h"
#include "sharding/rows/retention.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct StepShape {
  uint64_t samples = 1;             // over all workers
  uint32_t workers = 1;             // > 0; each merges the rows of its own samples
  std::vector<double> bag_lengths;  // of each of EmbeddingTables::features: mean ids, >= 0
  // Zipf's exponent, >= 0: the k-th most frequent id of a feature has a share ~ k^-exponent. 0: all
  // ids alike, which gives the most distinct rows.
  double zipf_exponent = 0;
  RowPrecision row_precision = {};
};

// The dense part of a DLRM.
struct DenseShape {
  std::vector<uint32_t> bottom;  // widths of the bottom MLP, its input first
  std::vector<uint32_t> top;     // widths of the top MLP, its input first
  bool is_bf16 = false;          // the layers' products
  std::string interaction;       // dot | cat | dcn | gdcn
  double interaction_work = 1;   // over that with default options, which its kernel measures
  uint32_t vectors = 1;          // that interact: features and the bottom MLP's output
  uint32_t width = 1;            // floats of each
  std::string optimizer;
  uint64_t parameters = 0;    // floats, projections of tables included
  double state_floats = 0;    // of the optimizer, for each of them
  uint32_t accumulation = 1;  // pieces a worker's samples are computed in
};

struct StorageShape {
  bool has_files = true;                 // rows are stored; otherwise all of them stay in memory
  uint64_t cache_bytes = 0;              // of a PS node
  Retention keeps = {.by_count = 0.85};  // by its policy; that of the default one
  bool knows_frequencies = false;        // the policy has a file of access counts
  double cache_ratio = 1.0;              // at most this share of a slice's rows is cached
  bool reads_from_page_cache = true;     // the files fit the host's memory
  bool has_rows = false;                 // the run goes on: rows that it touches were stored before
  uint32_t prefetch_steps = 8;           // steps ahead, at most, that rows are read
};

struct Workload {
  EmbeddingTables tables;
  StepShape step;                        // samples, workers, bag lengths, skew
  std::vector<IdDistribution> of_table;  // of each physical table
  std::vector<double> lookups;           // of each physical table, a sample
  // Where the hot rows of tables lie; null: rows are alike wherever they lie, as in scattered ids.
  std::shared_ptr<const AccessCounts> accesses;
  // The same of each physical table, for the step's lookups: SpreadByRow makes it, and SetStep
  // makes it again for another step. Null: as above.
  std::shared_ptr<const std::vector<std::optional<LookupsByRow>>> by_row;
  // Of each physical table, or empty: the share of its accesses (distinct rows of steps) that miss
  // in an LRU cache of this many rows, as a trace has it, first touches included. It stands in for
  // Che's approximation. Null: not traced.
  std::vector<std::function<double(double cache_rows)>> lru_miss_ratio;
  DenseShape dense;
  StorageShape storage;
  // Name in Datasets() of a source that generates samples. "": files are read ahead by other
  // threads; what is left is copying, which no kernel measures.
  std::string data_source;
  uint64_t steps = 0;           // of the run; 0: many. Caches are cold at first
  uint64_t steps_of_epoch = 0;  // that later epochs repeat; 0: no step is repeated
};

// PS nodes and workers on hosts that are alike.
struct ClusterShape {
  uint32_t ps = 1;
  uint32_t shards_per_ps = 1;
  uint32_t workers = 1;
  uint32_t threads = 1;              // compute threads of a worker
  uint32_t cores_per_host = 0;       // 0: the machine's
  uint32_t hosts = 1;                // ranks are dealt to them in turn; 1: all share one
  double network_gbits = 0;          // of a host, each way; 0: the machine's loopback
  double round_trip_us = 0;          // between hosts; 0: the machine's loopback
  uint64_t ps_memory_bytes = 0;      // of a PS node, at most; 0: any
  uint64_t ps_disk_bytes = 0;        // likewise
  uint64_t worker_memory_bytes = 0;  // of a worker, at most; 0: an equal part of its host's
};

}  // namespace rowhouse
