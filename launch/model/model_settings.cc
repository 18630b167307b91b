#include "launch/model/model_settings.h"

#include <algorithm>

#include "launch/settings/going_on.h"
#include "launch/settings/yaml_config.h"

namespace rowhouse {

Result<Settings> ReadModelSettings(const std::string& model_dir, const Manifest& manifest) {
  ASSIGN_OR_RETURN(const std::string text, ReadConfig(model_dir, manifest));
  Settings settings;
  RETURN_IF_ERROR(ReadYamlText(text, model_dir + "/config.yaml", &settings));
  settings.Complete();
  const std::string digest = ModelSettingsDigest(settings);
  if (digest == manifest.model_settings) return settings;
  return UsageError("{}/config.yaml is not as it was saved (digest {}, was {})", model_dir, digest,
                    manifest.model_settings);
}

Status CheckSettingsToScore(const Settings& settings, const std::string& model_dir,
                            const Manifest& manifest) {
  ASSIGN_OR_RETURN(const Settings saved, ReadModelSettings(model_dir, manifest));
  Settings given = settings;
  // How many samples are scored at once, and on how many threads, is not the model's.
  given.training.threads = saved.training.threads;
  given.data.mini_batch_size = saved.data.mini_batch_size;
  const std::vector<SettingChange> changes = ForbiddenChanges(saved, given);
  if (changes.empty()) return OkStatus();
  return UsageError(
      "the model in {} was trained with other settings: {}. Its scores are those of its own "
      "config.yaml, which is read if none of these is given",
      model_dir, ChangesText(changes));
}

namespace {

bool IsOfPreprocessing(const std::string& kind) {
  return kind == "preprocessing" || kind.starts_with("vocabulary_");
}

}  // namespace

Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& model_dir,
                                                               const Manifest& manifest) {
  DatasetState state;
  for (const ModelFile& file : manifest.files) {
    if (!IsOfPreprocessing(file.kind)) continue;
    RETURN_IF_ERROR(CheckModelFile(model_dir, file));
    state.files.push_back({.kind = file.kind, .bytes = "", .path = model_dir + "/" + file.file});
  }
  return PreprocessingOf(state);
}

Result<std::shared_ptr<const Preprocessing>> PreprocessingOf(const DatasetState& state) {
  const std::vector<PreprocessingFile> files = PreprocessingFilesOf(state);
  if (files.empty()) return std::shared_ptr<const Preprocessing>();
  return Preprocessing::OpenFiles(files);
}

bool IsWithoutMemory(const Schema& schema) {
  return schema.greatest_movie == 0 && !schema.multi_hot.is_on() &&
         std::ranges::none_of(
             schema.categorical,
             [](const auto& column) { return column.ids == "dictionary" || column.is_bucket(); }) &&
         std::ranges::none_of(schema.dense,
                              [](const auto& column) { return column.transform == "standardise"; });
}

std::vector<PreprocessingFile> PreprocessingFilesOf(const DatasetState& state) {
  std::vector<PreprocessingFile> files;
  for (const DatasetFile& file : state.files) {
    if (!IsOfPreprocessing(file.kind)) continue;
    files.push_back({.kind = file.kind, .name = "", .path = file.path});
  }
  return files;
}

}  // namespace rowhouse
