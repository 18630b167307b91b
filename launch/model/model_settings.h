// The settings that a saved model was trained with: its config.yaml. Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/model/manifest.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Of the model's last run, complete. kCorruption if config.yaml is not the file that the manifest
// lists; kUsage if it is not what older manifests say of it, or cannot be read.
Result<Settings> ReadModelSettings(const std::string& model_dir, const Manifest& manifest);

// OK if the model can be scored with these settings: whatever decides a score is as in its own.
// Otherwise kUsage that names the differences, or as ReadModelSettings.
Status CheckSettingsToScore(const Settings& settings, const std::string& model_dir,
                            const Manifest& manifest);

}  // namespace rowhouse
