#include "launch/settings/config_digest.h"

#include <fmt/format.h>

#include "common/digest.h"
#include "launch/settings/schema_fields.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/table_fields.h"

namespace rowhouse {
namespace {

// The last part of a path: a data file may move between runs.
std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Version 1 knew these, and wrote the Adagrads' epsilon for every table that was given none.
bool IsOfVersion1(const std::string& optimizer) {
  return optimizer == "sgd" || optimizer == "adagrad" || optimizer == "rowwise_adagrad";
}

}  // namespace

std::string ConfigDigest(const Settings& settings) {
  return DigestOf(ConfigText(settings, ConfigPart::kAll));
}

std::string ConfigText(const Settings& settings, ConfigPart part) {
  const TrainingSettings& training = settings.training;
  constexpr float kEpsilonOfVersion1 = 1e-10f;
  std::string text;
  for (const SettingField& field : SettingFields()) {
    if (!field.is_part_of_digest || field.get(settings) == field.default_text()) continue;
    if (part == ConfigPart::kModel && field.is_of_run) continue;
    const bool is_epsilon_of_version_1 = field.name == "optimizer_epsilon" &&
                                         training.optimizer_options.epsilon == kEpsilonOfVersion1 &&
                                         IsOfVersion1(settings.dense_optimizer());
    if (is_epsilon_of_version_1) continue;
    text += fmt::format("{}={}\n", field.name, field.get(settings));
  }
  if (part == ConfigPart::kAll) text += fmt::format("data={}\n", FileName(settings.data.file));
  text += DescribeSchema(settings.data.schema);
  // What the line below has had from the start; the rest follows where it is not the default.
  // A file of initial values may move, too: its bytes are in the manifest.
  std::vector<std::string> left_out = {
      "rows", "dim", "optimizer", "epsilon", "initial_accumulator", "initialiser", "init_from"};
  if (part == ConfigPart::kModel) left_out.push_back("learning_rate");
  for (const LogicalTable& table : settings.tables) {
    const float epsilon = IsOfVersion1(table.optimizer)
                              ? table.optimizer_options.epsilon_or(kEpsilonOfVersion1)
                              : table.optimizer_options.epsilon;
    text += fmt::format(
        "table {} rows={} dim={} kind={} optimizer={} epsilon={} "
        "initial_accumulator={} initialiser={} seed={} first_draw={}{}\n",
        table.name, table.rows, table.dim, table.kind, table.optimizer, epsilon,
        table.optimizer_options.initial_accumulator, table.initialiser,
        table.initialiser_options.seed, table.initialiser_options.first_draw,
        DescribeTableFields(table, left_out));
  }
  return text;
}

}  // namespace rowhouse
