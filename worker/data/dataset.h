// Dataset: where samples come from. A dataset is a sequence of epochs of train samples and one
// fixed sequence of test samples; every worker opens the same one and reads its own slices.
//
// Determinism: what sample number s of epoch e holds does not depend on rank, on the number of
//              workers, or on which slices were read before.
// Threads:     one thread.
// To add one, write worker/data/sources/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/numpy_random.h"
#include "common/registry.h"
#include "common/status.h"
#include "worker/data/batch.h"

namespace rowhouse {

// One struct for all sources; each says in its file which fields it reads.
struct DatasetOptions {
  // The model's shape, which the data must fit.
  uint32_t dense_features = 0;
  std::vector<uint64_t> table_rows;  // rows of each table, in feature order
  // Of each table; where they are not given, tables are numbered and take ids of their rows only.
  std::vector<std::string> table_names;
  std::vector<bool> takes_bad_ids;  // its bad_ids is modulo or padding: ids may be >= its rows

  uint64_t seed = 123;              // numpy seed of DLRM's generator; seed of the synthetic source
  uint64_t mini_batch_size = 1;     // global; DLRM's generator draws batch by batch
  std::string file;                 // criteo: path of the TSV file
  std::string data_set = "kaggle";  // criteo: kaggle | terabyte; see worker/data/criteo_reader.h
  double test_fraction = 0.0;       // criteo: last part of the file held out, [0, 1)
  std::string randomize =
      "total";  // criteo: order of train samples: total (one permutation) | none
  std::string id_mapping =
      "hash";                  // criteo: hash (token modulo rows) | dictionary (first appearance)
  int64_t max_ind_range = -1;  // criteo: tokens modulo this before anything else; -1 off

  // DLRM's generator (SPEC 12), names and defaults as there.
  uint64_t data_size = 1;
  uint64_t num_batches = 0;  // > 0 overrides data_size
  uint32_t num_indices_per_lookup = 10;
  bool num_indices_per_lookup_fixed = false;
  bool round_targets = false;
  std::string rand_data_dist = "uniform";  // uniform | gaussian
  double rand_data_min = 0, rand_data_max = 1, rand_data_mu = -1, rand_data_sigma = 1;

  // The synthetic source: Zipf ids with a planted effect per id.
  uint64_t test_samples = 0;
  double zipf_exponent = 1.05;
  double effect_scale = 1.0;        // standard deviation of the logit over samples
  uint32_t bag_length = 1;          // ids in a bag: exactly so many, or
  bool bag_length_fixed = true;     // if not fixed, 1 to so many
  bool has_lookup_weights = false;  // Bags::weights in [0.5, 1.5)

  // `table 2 "C3"`, for messages.
  std::string Describe(size_t table) const;
  bool TakesBadIds(size_t table) const {
    return table < takes_bad_ids.size() && takes_bad_ids[table];
  }
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual uint64_t train_samples() const = 0;  // of every epoch
  virtual uint64_t test_samples() const = 0;

  // Samples [first, first + count) of `epoch`'s order. Requires first + count <= train_samples().
  virtual Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* batch) = 0;
  virtual Status ReadTest(uint64_t first, uint64_t count, Batch* batch) = 0;

  // A digest, as hex, of the bytes of the files it was read from; "" for data that the settings
  // alone decide.
  virtual std::string content_digest() const { return ""; }

  // The ROC AUC on the test samples of the model that made the labels, or a negative number where
  // nobody knows it. Known for planted data: the ceiling of any model.
  virtual double TestAucCeiling() { return -1.0; }

  // numpy's generator as reading one epoch from its beginning leaves it; nothing where train
  // samples are not drawn from one. Costs such a reading.
  virtual std::optional<NumpyRandom> GeneratorAfterEpoch() { return std::nullopt; }
};

Registry<Dataset, DatasetOptions>& Datasets();

}  // namespace rowhouse
