#include "launch/settings/going_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "common/digest.h"
#include "launch/settings/schema_fields.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/table_fields.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

// Words "name=value" after the table's name, in order.
using Words = std::vector<std::pair<std::string, std::string>>;

Words WordsOf(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = word.find('=');
    // A value may contain a blank: what has no name belongs to the word before.
    if (equals == word.npos) {
      if (!words.empty()) words.back().second += " " + std::string(word);
      continue;
    }
    words.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return words;
}

// ConfigText of kModel, taken apart.
struct ModelText {
  std::map<std::string, std::string> settings;
  std::vector<std::pair<std::string, Words>> tables;  // by name, in order
  std::vector<std::string> schema;                    // its lines
};

ModelText ModelTextOf(const Settings& settings) {
  ModelText model;
  std::string_view rest;
  const std::string text = ConfigText(settings, ConfigPart::kModel);
  for (rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    constexpr std::string_view kTable = "table ";
    const size_t rows = line.find(" rows=");
    if (line.starts_with(kTable) && rows != line.npos) {
      model.tables.emplace_back(line.substr(kTable.size(), rows - kTable.size()),
                                WordsOf(line.substr(rows + 1)));
      continue;
    }
    const size_t equals = line.find('=');
    const std::string name(line.substr(0, equals));
    if (equals != line.npos && FindSettingField(name) != nullptr) {
      model.settings[name] = line.substr(equals + 1);
    } else {
      model.schema.emplace_back(line);
    }
  }
  return model;
}

std::string ValueOf(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? FindSettingField(name)->default_text() : found->second;
}

const std::string& ValueOf(const Words& words, const std::string& name) {
  static const std::string kDefault = "the default";
  const auto found = std::ranges::find(words, name, &Words::value_type::first);
  return found == words.end() ? kDefault : found->second;
}

void AddChangesOfTable(const std::string& table, const Words& before, const Words& now,
                       std::vector<SettingChange>* changes) {
  Words all = before;
  for (const auto& word : now) {
    if (std::ranges::count(before, word.first, &Words::value_type::first) == 0) {
      all.push_back(word);
    }
  }
  for (const auto& [name, value] : all) {
    if (ValueOf(before, name) == ValueOf(now, name)) continue;
    // It follows from the sizes of other tables, and only DLRM's numbers are drawn in order.
    const bool is_drawn = Initialisers().DeclarationOf(ValueOf(now, "initialiser")).draws_in_turn;
    if (name == "first_draw" && (!is_drawn || !changes->empty())) continue;
    changes->push_back(
        {fmt::format("table {}: {}", table, name), ValueOf(before, name), ValueOf(now, name)});
  }
}

void AddChangesOfTables(const ModelText& before, const ModelText& now,
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

std::string ModelSettingsDigest(const Settings& settings) {
  return DigestOf(ConfigText(settings, ConfigPart::kModel));
}

std::string DataSettingsDigest(const Settings& settings) {
  // Text and the binary form of the same text have the same content.
  const bool reads_file = DeclarationOfDataset(settings.data_source()).reads_file;
  std::string text = settings.data.test_file.empty() ? "" : "test_data is given\n";
  for (const SettingField& field : SettingFields()) {
    if (field.section != Section::kData || !field.is_of_run) continue;
    if (field.get(settings) == field.default_text()) continue;
    if (reads_file && field.name == "data_generation") continue;
    text += fmt::format("{}={}\n", field.name, field.get(settings));
  }
  return DigestOf(text);
}

std::vector<SettingChange> ForbiddenChanges(const Settings& before, const Settings& now) {
  const ModelText old_text = ModelTextOf(before), new_text = ModelTextOf(now);
  std::vector<SettingChange> changes;
  for (const SettingField& field : SettingFields()) {
    if (!old_text.settings.contains(field.name) && !new_text.settings.contains(field.name)) {
      continue;
    }
    const std::string was = ValueOf(old_text.settings, field.name);
    const std::string is = ValueOf(new_text.settings, field.name);
    if (was != is) changes.push_back({field.name, was, is});
  }
  AddChangesOfTables(old_text, new_text, &changes);
  if (old_text.schema != new_text.schema) {
    changes.push_back({"section schema", LinesNotIn(new_text.schema, old_text.schema),
                       LinesNotIn(old_text.schema, new_text.schema)});
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
