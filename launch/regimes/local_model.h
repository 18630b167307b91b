// What the regime experiment times in this process. LocalModel: a training step whose rows lie in
// this process's memory: the worker's own code for ids, pooling, layers and gradients, with rows
// read from arrays and updated there by SGD in place of pull and push. So lookups are reads of
// memory, as in a program without a parameter server. LookupTiming: lookups alone, by the code that
// scores with rows in memory: ids are checked, rows are read where they lie and copied to their
// place, one a bag.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "launch/regimes/regime_evidence.h"
#include "launch/settings/settings.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_parameters.h"
#include "worker/embedding/embedding.h"
#include "worker/train/training_step.h"

namespace rowhouse {

// The models of the regime experiment: MLPerf EDU's Micro-DLRM and Micro-DLRM-DRAM, with SGD and
// ids that are spread evenly over all rows, so that no lookup is helped by an earlier one.
struct RegimeModel {
  std::string name;      // "micro_dlrm"
  uint32_t dim = 8;      // floats of a row
  uint64_t buckets = 0;  // rows of the one table that three features share; 0: three small tables
  uint32_t mlp_factor = 1;  // times the original's widths of hidden layers
  uint64_t batch = 256;     // samples of a step: the original's
  uint32_t bag = 1;         // ids of a bag, which are summed; the original's: 1
};

RegimeModel MicroDlrm();
// `buckets` rows of 256 floats.
RegimeModel MicroDlrmDram(uint64_t buckets);

// A YAML file for --config, and the same as settings, complete and valid.
std::string YamlOf(const RegimeModel& model);
Result<Settings> SettingsOf(const RegimeModel& model);

// The same with 32 ids a bag: what an embedding-bound model of that size is like.
RegimeModel MicroDlrmDramBags(uint64_t buckets);

// Bags of the model's length in each feature; the same samples for the same key.
Batch SamplesOf(const RegimeModel& model, uint64_t samples, uint64_t key);

// Seconds of a step, by what they are spent on.
struct LocalTimes {
  double lookups = 0;  // ids to rows, reading them, pooling, their gradients and updates
  double mlp = 0;      // linear layers, loss, dense update
  double other = 0;    // the interaction, which copies pooled vectors

  double step() const { return lookups + mlp + other; }
};

class LocalModel {
 public:
  // `memory`: at least FloatsOf(settings); its contents are the rows. Outlives the model.
  LocalModel(const Settings& settings, std::span<float> memory);

  static uint64_t FloatsOf(const Settings& settings);

  // One step. kInternal if the model diverges.
  Result<LocalTimes> Step(const Batch& batch);

  // Bytes of rows that this many lookups of each feature read.
  uint64_t lookup_bytes(uint64_t lookups) const;

 private:
  void ReadRows();
  void UpdateRows();

  const SystemClock clock_;
  const double learning_rate_;
  TrainingStep step_;
  std::vector<std::span<float>> tables_;  // of each physical table
  uint64_t steps_ = 0;
};

class LookupTiming {
 public:
  // A table of `rows` x `dim` floats at the beginning of `memory`, which outlives this.
  LookupTiming(std::span<const float> memory, uint64_t rows, uint32_t dim);

  // Nanoseconds of one call that looks up this many rows, evenly spread; other rows each time.
  double CallNs(uint64_t lookups);
  // The median of this many calls, after one that is not counted.
  double MedianNs(uint64_t lookups, int calls);

  uint64_t bytes() const { return rows_ * dim_ * sizeof(float); }

 private:
  const uint64_t rows_;
  const uint32_t dim_;
  DenseParameters no_projections_;
  EmbeddingLayer layer_;
  std::vector<Bags> bags_;
  std::vector<float> out_;
  uint64_t calls_ = 0;
};

// Tables of `dim` floats, 256 KiB, 512 KiB, ... and all of `memory`, `lookups` rows a call.
std::vector<TableTime> TimesOverTableSize(std::span<const float> memory, uint32_t dim,
                                          uint64_t lookups);

}  // namespace rowhouse
