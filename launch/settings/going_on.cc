#include "launch/settings/going_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/digest.h"
#include "launch/settings/key_fields.h"
#include "launch/settings/setting_fields.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

// Names and values, in order.
using Words = std::vector<std::pair<std::string, std::string>>;

// kModel: only what all runs of a model have in common.
enum class ConfigPart { kAll, kModel };

// What decides the trained bits.
struct ConfigParts {
  Words settings;                                     // that are not at their defaults
  std::vector<std::string> schema;                    // its lines
  std::vector<std::pair<std::string, Words>> tables;  // by name
};

// Version 1 wrote the Adagrads' epsilon for every table that was given none, of any optimizer.
bool IsOfVersion1(const std::string& optimizer) {
  return Optimizers().DeclarationOf(optimizer).has_epsilon_in_digest;
}
constexpr float kEpsilonOfVersion1 = 1e-10f;

Words SettingsIn(const Settings& settings, ConfigPart part) {
  Words words;
  for (const SettingField& field : SettingFields()) {
    if (!field.is_part_of_digest || field.get(settings) == field.default_text()) continue;
    if (part == ConfigPart::kModel && field.is_of_run) continue;
    const bool is_epsilon_of_version_1 =
        field.name == "optimizer_epsilon" &&
        settings.training.optimizer_options.epsilon == kEpsilonOfVersion1 &&
        IsOfVersion1(settings.dense_optimizer());
    if (!is_epsilon_of_version_1) words.emplace_back(field.name, field.get(settings));
  }
  return words;
}

// What these words begin with they have had from the start; the rest follows where it is not the
// default.
Words WordsOf(const LogicalTable& table, ConfigPart part) {
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  const float epsilon = IsOfVersion1(table.optimizer)
                            ? table.optimizer_options.epsilon_or(kEpsilonOfVersion1)
                            : table.optimizer_options.epsilon;
  Words words = {{"rows", text(table.rows)},
                 {"dim", text(table.dim)},
                 {"kind", table.kind},
                 {"optimizer", table.optimizer},
                 {"epsilon", text(epsilon)},
                 {"initial_accumulator", text(table.optimizer_options.initial_accumulator)},
                 {"initialiser", table.initialiser},
                 {"seed", text(table.initialiser_options.seed)},
                 {"first_draw", text(table.initialiser_options.first_draw)}};
  static const LogicalTable kFresh;
  for (const TableField& field : TableFields()) {
    const bool is_there = std::ranges::count(words, field.name, &Words::value_type::first) > 0;
    // A file of initial values may move: its bytes are in the manifest.
    const bool is_left_out =
        field.name == "init_from" || (part == ConfigPart::kModel && field.name == "learning_rate");
    if (is_there || is_left_out || !field.is_part_of_digest) continue;
    if (field.get(table) != field.get(kFresh)) words.emplace_back(field.name, field.get(table));
  }
  const std::vector<std::string>& outside = TableKinds().DeclarationOf(table.kind).outside_digest;
  for (const auto& option : table.kind_options) {
    if (std::ranges::count(outside, option.first) == 0) words.push_back(option);
  }
  return words;
}

ConfigParts PartsOf(const Settings& settings, ConfigPart part) {
  ConfigParts parts = {.settings = SettingsIn(settings, part),
                       .schema = DescribeSchema(settings.data.text.schema),
                       .tables = {}};
  for (const LogicalTable& table : settings.tables) {
    parts.tables.emplace_back(table.name, WordsOf(table, part));
  }
  return parts;
}

// What is digested, as lines of text: "name=value" of a setting, "table NAME rows=... ..." of a
// table, and those of section schema.
std::string ConfigText(const Settings& settings, ConfigPart part) {
  const ConfigParts parts = PartsOf(settings, part);
  std::string text;
  for (const auto& [name, value] : parts.settings) text += fmt::format("{}={}\n", name, value);
  if (part == ConfigPart::kAll) {
    // The last part of the path: a data file may move between runs.
    const std::string& path = settings.data.file;
    text += fmt::format("data={}\n", path.substr(path.rfind('/') + 1));
  }
  // Only then validations decide trained bits.
  if (part == ConfigPart::kAll && settings.training.plateau_patience > 0) {
    text += fmt::format("plateaus of {} each {} steps\n", settings.training.early_stop_metric,
                        settings.training.test_freq);
  }
  for (const std::string& line : parts.schema) text += line + "\n";
  for (const auto& [table, words] : parts.tables) {
    text += "table " + table;
    for (const auto& [name, value] : words) text += fmt::format(" {}={}", name, value);
    text += "\n";
  }
  return text;
}

// The value of a word, or what stands for one that is not there.
std::string ValueOf(const Words& words, const std::string& name, const std::string& otherwise) {
  const auto found = std::ranges::find(words, name, &Words::value_type::first);
  return found == words.end() ? otherwise : found->second;
}

void AddChangesOfTable(const std::string& table, const Words& before, const Words& now,
                       std::vector<SettingChange>* changes) {
  const auto value_of = [](const Words& words, const std::string& name) {
    return ValueOf(words, name, "the default");
  };
  Words all = before;
  for (const auto& word : now) {
    if (std::ranges::count(before, word.first, &Words::value_type::first) == 0) {
      all.push_back(word);
    }
  }
  for (const auto& [name, value] : all) {
    if (value_of(before, name) == value_of(now, name)) continue;
    // It follows from the sizes of other tables, and only DLRM's numbers are drawn in order.
    const bool is_drawn = Initialisers().DeclarationOf(value_of(now, "initialiser")).draws_in_turn;
    if (name == "first_draw" && (!is_drawn || !changes->empty())) continue;
    changes->push_back(
        {fmt::format("table {}: {}", table, name), value_of(before, name), value_of(now, name)});
  }
}

void AddChangesOfTables(const ConfigParts& before, const ConfigParts& now,
                        std::vector<SettingChange>* changes) {
  if (before.tables.size() != now.tables.size()) {
    changes->push_back({"the number of tables", fmt::format("{}", before.tables.size()),
                        fmt::format("{}", now.tables.size())});
    return;
  }
  for (size_t t = 0; t < now.tables.size(); ++t) {
    const auto& [name_before, words_before] = before.tables[t];
    const auto& [name_now, words_now] = now.tables[t];
    if (name_before != name_now) {
      changes->push_back({fmt::format("the name of table {}", t), name_before, name_now});
    }
    AddChangesOfTable(name_now, words_before, words_now, changes);
  }
}

// The lines of `some` that `others` lacks.
std::string LinesNotIn(const std::vector<std::string>& others,
                       const std::vector<std::string>& some) {
  std::string text;
  for (const std::string& line : some) {
    if (std::ranges::count(others, line) > 0) continue;
    text += (text.empty() ? "" : "; ") + line;
  }
  return text.empty() ? "in this order" : text;
}

std::string FileOf(const Settings& settings) {
  return settings.data.file.empty() ? "none" : settings.data.file;
}

}  // namespace

std::string ConfigDigest(const Settings& settings) {
  return DigestOf(ConfigText(settings, ConfigPart::kAll));
}

std::string ModelSettingsDigest(const Settings& settings) {
  return DigestOf(ConfigText(settings, ConfigPart::kModel));
}

std::string DataSettingsDigest(const Settings& settings) {
  // Text and the binary form of the same text have the same content.
  const bool reads_file = DeclarationOfDataset(settings.data_source()).reads_file;
  std::string text = settings.data.held_out.test_file.empty() ? "" : "test_data is given\n";
  for (const SettingField& field : SettingFields()) {
    if (field.section != Section::kData || !field.is_of_run) continue;
    if (field.get(settings) == field.default_text()) continue;
    if (reads_file && field.name == "data_generation") continue;
    text += fmt::format("{}={}\n", field.name, field.get(settings));
  }
  return DigestOf(text);
}

std::vector<SettingChange> ForbiddenChanges(const Settings& before, const Settings& now) {
  const ConfigParts old_parts = PartsOf(before, ConfigPart::kModel);
  const ConfigParts new_parts = PartsOf(now, ConfigPart::kModel);
  std::vector<SettingChange> changes;
  for (const SettingField& field : SettingFields()) {
    const std::string was = ValueOf(old_parts.settings, field.name, field.default_text());
    const std::string is = ValueOf(new_parts.settings, field.name, field.default_text());
    if (was != is) changes.push_back({field.name, was, is});
  }
  AddChangesOfTables(old_parts, new_parts, &changes);
  if (old_parts.schema != new_parts.schema) {
    changes.push_back({"section schema", LinesNotIn(new_parts.schema, old_parts.schema),
                       LinesNotIn(old_parts.schema, new_parts.schema)});
  }
  return changes;
}

std::vector<SettingChange> AllowedChanges(const Settings& before, const Settings& now) {
  std::vector<SettingChange> changes;
  if (FileOf(before) != FileOf(now)) changes.push_back({"data", FileOf(before), FileOf(now)});
  for (const SettingField& field : SettingFields()) {
    if (!field.is_of_run || field.get(before) == field.get(now)) continue;
    changes.push_back({field.name, field.get(before), field.get(now)});
  }
  if (before.training.nepochs != now.training.nepochs) {
    changes.push_back({"nepochs", fmt::format("{}", before.training.nepochs),
                       fmt::format("{}", now.training.nepochs)});
  }
  return changes;
}

std::string ChangesText(const std::vector<SettingChange>& changes) {
  std::string text;
  for (const SettingChange& change : changes) {
    text += fmt::format("{}{} {} (was {})", text.empty() ? "" : ", ", change.name, change.now,
                        change.before);
  }
  return text;
}

}  // namespace rowhouse
