// Manifest: describes a saved model, as JSON in --model_dir:
//   manifest.json        format version, digests, tables, shards, step, and the other files with
//                        their checksums
//   dense-<steps>.bin    f32 little-endian: dense parameters, then the dense optimizer's state;
//                        then the records of rows on the workers (worker/embedding/worker_rows.h)
//   data-<kind>-<checksum>.bin  files of the data source (worker/data/dataset.h), which the
//   manifest
//                        lists by kind: the preprocessing of own data. Saves of one model share
//                        them by hard links
//   curve-<steps>.json   the learning curve so far (launch/report/training_history.h)
//   config.yaml          the effective settings, for people and for `--config`
// Other rows lie in the shards' directories on their hosts. Rows that no step touched are not
// stored: the initialisers' names and seeds in `tables` stand for them, or, for initial values from
// a file, its size and XXH3-64.
//
// The manifest is written last, by rename, so that a crash leaves the old one. SaveModel is called
// after every shard has answered FLUSH. docs/storage.md, "A save", says what a crash leaves at each
// point, and which of it can be loaded. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/tables/job_spec.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// A file beside the manifest.
struct ModelFile {
  std::string kind;        // [a-z0-9_]+, unique in the model
  std::string file;        // name within the model directory
  uint64_t bytes = 0;      // its size
  std::string checksum;    // XXH3-64, hex
  bool is_linked = false;  // the source gave a path, not bytes, and is given one
  bool operator==(const ModelFile&) const = default;
};

struct Manifest {
  // 2: the data may have begun at a later step than 0, and files of the data source have other
  // names; a program of version 1 would go on at the wrong sample.
  static constexpr int kFormatVersion = 2;

  std::string model_id;
  std::string config_digest;        // of the settings of the first run; shards have the same
  std::string model_settings = {};  // launch/settings/going_on.h; "": written by version 1
  uint64_t steps = 0;               // applied
  uint64_t steps_per_epoch = 0;     // of the run that saved
  // The step that read the first sample of epoch 0 of the run's data; with `steps` and
  // `steps_per_epoch`, the position in the data.
  uint64_t data_first_step = 0;
  std::string rows_digest;         // of all rows at `steps`
  std::string data_digest = {};    // Dataset::content_digest(); "": not known, or no files
  std::string data_settings = {};  // DataSettingsDigest; "": written by version 1
  std::vector<TableSpec> tables;
  Plan plan;
  std::vector<SavedShard> shards;
  std::string dense_file;  // name within the model directory
  uint64_t dense_floats = 0;
  std::string dense_checksum;         // XXH3-64, hex
  std::string data_position = {};     // DatasetState::position
  std::vector<ModelFile> files = {};  // of the data source
  std::string curve_file = {};        // name within the model directory; "": none
  std::string curve_checksum = {};    // XXH3-64, hex
};

// True if `model_dir` holds a manifest.
bool HasManifest(const std::string& model_dir);

// kUsage if there is none or it is of a newer format; kCorruption if it cannot be read.
Result<Manifest> ReadManifest(const std::string& model_dir);

// Writes dense file, files of the data source, curve, config and manifest, in this order, each
// durably; then removes such files of models saved there before. Fills dense_file, dense_floats,
// dense_checksum, data_position, files, curve_file and curve_checksum. `curve`: text of the
// learning curve; "": none.
Status SaveModel(const std::string& model_dir, Manifest manifest, std::span<const float> dense,
                 const std::string& config_yaml, const DatasetState& data = {},
                 const std::string& curve = "");

// kCorruption, naming the file, if its size or checksum is not what the manifest says.
Result<std::vector<float>> ReadDense(const std::string& model_dir, const Manifest& manifest);

// What the data source kept with the model. Files that it gave by path have a path in `model_dir`.
// kCorruption as ReadDense.
Result<DatasetState> ReadDatasetState(const std::string& model_dir, const Manifest& manifest);

// The text of the learning curve; "" if none was saved. kCorruption as ReadDense.
Result<std::string> ReadCurve(const std::string& model_dir, const Manifest& manifest);

}  // namespace rowhouse
