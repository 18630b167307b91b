#include "launch/model/model_settings.h"

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

}  // namespace rowhouse
