// Manifest: describes a saved model, as JSON in --model_dir:
//   manifest.json        format version, digests, tables, shards with the stamps of their rows,
//                        step, and the other files with sizes and digests; its last key is a
//                        digest of all that is before it
//   dense-<steps>.bin    f32 little-endian: dense parameters, then the dense optimizer's state;
//                        then the records of rows on the workers (worker/embedding/worker_rows.h)
//   data-<kind>-<digest>.bin  files of the data source (worker/data/dataset.h), which the manifest
//                        lists by kind: the preprocessing of own data. Saves of one model share
//                        them by hard links
//   curve-<steps>.json   the learning curve so far (launch/report/training_history.h)
//   config.yaml          the effective settings, for people and for `--config`
//   saving.list          during a save: names of the files that it makes and removes
// Other rows lie in the shards' directories on their hosts. Rows that no step touched are not
// stored: they follow from the initialisers' names and seeds in `tables`, or, if initial values
// come from a file, from that file, whose size and XXH3-64 are there.
//
// Whoever reads a model reads nothing that its manifest does not list, and compares what is read
// with the size and digest there. Manifests of other versions are refused.
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
#include "sharding/plans/job_spec.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// A file beside the manifest.
struct ModelFile {
  std::string kind;        // [a-z0-9_]+, unique in the model
  std::string file;        // name within the model directory; "": there is none
  uint64_t bytes = 0;      // its size
  std::string digest;      // XXH3-128, hex
  bool is_linked = false;  // the source gave a path, not bytes, and is given one
  bool operator==(const ModelFile&) const = default;
};

struct Manifest {
  static constexpr uint64_t kFormatVersion = 3;

  std::string model_id;
  std::string config_digest;        // of the settings of the first run; shards have the same
  std::string model_settings = {};  // launch/settings/going_on.h
  uint64_t steps = 0;               // applied
  uint64_t steps_per_epoch = 0;     // of the run that saved
  // The step that read the first sample of epoch 0 of the run's data; with `steps` and
  // `steps_per_epoch`, the position in the data.
  uint64_t data_first_step = 0;
  std::string rows_digest;  // of all rows at `steps`
  // The steps of the best model by validation so far, which a checkpoint may keep; none without
  // validations.
  std::optional<uint64_t> best_step = {};
  std::string data_digest = {};    // Dataset::content_digest(); "": not known, or no files
  std::string data_settings = {};  // DataSettingsDigest
  std::vector<TableSpec> tables;
  Plan plan;
  std::vector<SavedShard> shards;
  ModelFile dense = {.kind = "dense"};
  // Of the dense parameters and the state of their optimizer. It leaves out rows on the workers,
  // whose number depends on the plan. XXH3-128, hex.
  std::string dense_digest = {};
  ModelFile config = {.kind = "config"};
  ModelFile curve = {.kind = "curve"};
  std::string data_position = {};     // DatasetState::position
  std::vector<ModelFile> files = {};  // of the data source
};

// True if `model_dir` holds a manifest.
bool HasManifest(const std::string& model_dir);

// kUsage if there is none or it is of another format; kCorruption if it cannot be read, or is not
// as it was written.
Result<Manifest> ReadManifest(const std::string& model_dir);

// What SaveModel writes beside the manifest.
struct ModelContents {
  std::span<const float> dense;  // the dense file (worker/embedding/worker_rows.h)
  size_t dense_values = 0;       // of these, all but rows on the workers
  std::string config_yaml;
  DatasetState data = {};
  std::string curve = "";  // text of the learning curve; "": none
};

// Writes dense file, files of the data source, curve, config and manifest, in this order, each
// durably; then removes the files that the manifest there before listed, and those of a save that
// was cut off, and no others. Fills in what the manifest says of them.
Status SaveModel(const std::string& model_dir, Manifest manifest, const ModelContents& contents);

// The manifest alone, of a model that is there.
Status WriteManifest(const std::string& model_dir, const Manifest& manifest);

// Says which model this is: equal digests mean the same rows, dense part, model settings and
// preprocessing, under whatever plan and wherever it was saved. Hex of XXH3-128; "": not known, as
// the model was saved in mid-run, without the digest of its rows.
std::string ModelDigest(const Manifest& manifest);
// "model digest <hex>", or why there is none.
std::string ModelDigestText(const Manifest& manifest);

// All files that the manifest lists, in its order.
std::vector<ModelFile> FilesOf(const Manifest& manifest);

// kCorruption, naming the file, if its size or digest is not what the manifest says.
Status CheckModelFile(const std::string& model_dir, const ModelFile& file);
// Of all of them.
Status CheckModelFiles(const std::string& model_dir, const Manifest& manifest);

// kCorruption as CheckModelFile.
Result<std::vector<float>> ReadDense(const std::string& model_dir, const Manifest& manifest);

// The text of config.yaml. kCorruption as CheckModelFile.
Result<std::string> ReadConfig(const std::string& model_dir, const Manifest& manifest);

// What the data source kept with the model. Files that it gave by path have a path in `model_dir`.
// kCorruption as ReadDense.
Result<DatasetState> ReadDatasetState(const std::string& model_dir, const Manifest& manifest);

// The text of the learning curve; "" if none was saved. kCorruption as ReadDense.
Result<std::string> ReadCurve(const std::string& model_dir, const Manifest& manifest);

}  // namespace rowhouse
