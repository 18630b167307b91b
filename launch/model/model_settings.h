// What a saved model was trained with: its settings, in config.yaml, and the preprocessing of its
// data. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "launch/model/manifest.h"
#include "launch/settings/settings.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {

// Of the model's last run, complete. kCorruption if config.yaml is not the file that the manifest
// lists; kUsage if it cannot be read.
Result<Settings> ReadModelSettings(const std::string& model_dir, const Manifest& manifest);

// OK if the model can be scored with these settings: whatever decides a score is as in its own.
// Otherwise kUsage that names the differences, or as ReadModelSettings.
Status CheckSettingsToScore(const Settings& settings, const std::string& model_dir,
                            const Manifest& manifest);

// ---- Preprocessing ------------------------------------------------------------------------------

// Of the model saved in `model_dir`, whose manifest this is: in --model_dir itself or in one of its
// checkpoints. Null if it kept none. kCorruption if a file is not what the manifest says.
Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& model_dir,
                                                               const Manifest& manifest);

// Those of a dataset's or a model's files that are a preprocessing. Null if there are none.
Result<std::shared_ptr<const Preprocessing>> PreprocessingOf(const DatasetState& state);

// Whether a preprocessing of this schema maps by it alone, with nothing counted in data, and into
// one-hot bags.
bool IsWithoutMemory(const Schema& schema);

// Their names are of use only in a directory of their own: they are "".
std::vector<PreprocessingFile> PreprocessingFilesOf(const DatasetState& state);

}  // namespace rowhouse
