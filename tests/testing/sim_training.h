// A training run on the simulated cluster, from beginning to end: what to train, and the results in
// which runs of the same model on different clusters must agree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/testing/sim_cluster.h"

namespace rowhouse {

struct SimTask {
  ModelSpec model;  // without feature_widths, which are those of the tables
  EmbeddingTables tables;
  DatasetOptions data;  // a step's samples are data.mini_batch_size
  std::string source = "random";
};

// Multi-hot bags of up to `ids` ids, some of them repeated, and labels of 0 or 1.
inline DatasetOptions SimData(uint32_t dense, std::vector<uint64_t> rows, uint64_t seed,
                              uint64_t steps, int ids, uint64_t samples = 24) {
  DatasetOptions data;
  data.shape.dense_features = dense;
  data.shape.table_rows = std::move(rows);
  data.seed = seed;
  data.mini_batch_size = samples;
  data.num_batches = steps;
  data.flags["num_indices_per_lookup"] = std::to_string(ids);
  data.flags["round_targets"] = "true";
  return data;
}

inline ModelSpec SimModel(std::vector<uint32_t> bottom_mlp, std::vector<uint32_t> top_mlp) {
  ModelSpec model;
  model.bottom_mlp = std::move(bottom_mlp);
  model.top_mlp = std::move(top_mlp);
  model.loss = "bce";
  return model;
}

struct SimOutcome {
  std::vector<double> losses;  // of each step, over all workers
  std::string digest;          // of all rows
  uint64_t rows = 0;           // that exist
  std::vector<float> dense;    // the parameters of worker 0
  ShardCounters stats;         // over all shards
};

inline ModelSpec ModelOf(const SimTask& task) {
  ModelSpec model = task.model;
  model.feature_widths = task.tables.widths();
  return model;
}

// Trains `steps` steps of epoch 0; 0: all of them. mini_batch_size and model_seed of `options` are
// replaced by those of the data. Fails the test if the dense parts of two workers differ.
inline SimOutcome TrainOnSim(SimOptions options, const SimTask& task, uint64_t steps = 0) {
  options.mini_batch_size = task.data.mini_batch_size;
  options.model_seed = static_cast<uint32_t>(task.data.seed);
  const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
  if (steps == 0) {
    steps = (data->train_samples() + options.mini_batch_size - 1) / options.mini_batch_size;
  }
  SimCluster cluster(options, ModelOf(task), task.tables);
  SimOutcome outcome;
  outcome.losses = cluster.Train(*data, steps);
  const SimCluster::Rows rows = cluster.AllRows();
  outcome.digest = rows.digest;
  outcome.rows = rows.count;
  outcome.dense = cluster.DenseParameters(0);
  for (size_t w = 1; w < options.workers; ++w) CHECK(cluster.DenseParameters(w) == outcome.dense);
  outcome.stats = cluster.TotalStats();
  return outcome;
}

}  // namespace rowhouse
