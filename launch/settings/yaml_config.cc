#include "launch/settings/yaml_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/durable_file.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/table_fields.h"
#include "launch/settings/yaml_schema.h"
#include "launch/settings/yaml_source.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

constexpr Section kSections[] = {Section::kModel,   Section::kData,    Section::kTraining,
                                 Section::kStorage, Section::kCluster, Section::kOutput};

// One file being read.
class YamlReader : YamlSource {
 public:
  YamlReader(std::string name, Settings* settings)
      : YamlSource(std::move(name)), settings_(*settings) {}

  Status Read(const YAML::Node& root) {
    if (root.IsNull()) return OkStatus();  // An empty file, or comments only.
    std::vector<std::string> known;
    for (const Section section : kSections) known.emplace_back(SectionName(section));
    known.insert(known.begin() + 1, {"tables", "schema"});
    RETURN_IF_ERROR(CheckKeys(root, "the file", known));
    // Tables begin with what the other sections say, wherever in the file they stand.
    for (const Section section : kSections) {
      const YAML::Node node = root[std::string(SectionName(section))];
      if (node.IsDefined()) RETURN_IF_ERROR(ReadSection(section, node));
    }
    if (root["schema"].IsDefined()) {
      RETURN_IF_ERROR(ReadYamlSchema(*this, root["schema"], &settings_.data.schema));
    }
    if (root["tables"].IsDefined()) RETURN_IF_ERROR(ReadTables(root["tables"], root["model"]));
    return OkStatus();
  }

 private:
  Status ReadSection(Section section, const YAML::Node& map) {
    if (map.IsNull()) return OkStatus();
    RETURN_IF_ERROR(
        CheckKeys(map, fmt::format("section {}", SectionName(section)), SettingNames(section)));
    std::map<std::string, std::string> key_of;  // as given, by the setting's name
    for (const auto& entry : map) {
      const YAML::Node &key = entry.first, &value = entry.second;
      const SettingField& field = *FindSettingField(key.Scalar());
      const auto [first, is_first] = key_of.emplace(field.name, key.Scalar());
      if (!is_first) {
        return At(key.Mark(), "{} and {} are two names of one setting; give only one of them",
                  first->second, key.Scalar());
      }
      std::string text;
      const bool is_list =
          field.kind == SettingKind::kNumberList || field.kind == SettingKind::kTextList;
      if (value.IsSequence() && is_list) {
        RETURN_IF_ERROR(JoinSequence(key.Scalar(), value, &text));
      } else {
        RETURN_IF_ERROR(ReadScalar(key.Scalar(), value, field.expected, &text));
      }
      const Status status = field.set(text, settings_);
      if (!status.ok()) {
        return At(value.Mark(), "{}: {}: {}", key.Scalar(), text, status.message());
      }
    }
    return OkStatus();
  }

  // ---- Section tables -----------------------------------------------------------------------

  Status ReadTables(const YAML::Node& map, const YAML::Node& model) {
    RETURN_IF_ERROR(CheckKeys(map, "section tables", {"defaults", "rows", "names", "list"}));
    LogicalTable& defaults = settings_.table_defaults;
    if (map["defaults"].IsDefined()) {
      RETURN_IF_ERROR(
          ReadTableOptions(map["defaults"], "tables: defaults", {"name", "rows"}, &defaults));
    }
    if (map["list"].IsDefined() && (map["rows"].IsDefined() || map["names"].IsDefined())) {
      return At(map["list"].Mark(), "tables are given by \"list\" or by \"rows\", not by both");
    }
    const bool has_tables = map["list"].IsDefined() || map["rows"].IsDefined();
    if (has_tables && model.IsDefined() && model.IsMap() &&
        model["arch_embedding_size"].IsDefined()) {
      return At(model["arch_embedding_size"].Mark(),
                "tables are given by model: arch_embedding_size or in section tables, not by both");
    }
    settings_.are_tables_given = settings_.are_tables_given || has_tables;
    if (map["list"].IsDefined()) return ReadTableList(map["list"]);
    if (map["rows"].IsDefined()) return ReadTableRows(map["rows"], map["names"]);
    // Sizes from elsewhere: the defaults and names still count.
    for (LogicalTable& table : settings_.tables) {
      const auto [name, rows] = std::pair(table.name, table.rows);
      table = defaults;
      table.name = name;
      table.rows = rows;
    }
    if (map["names"].IsDefined()) return ReadTableNames(map["names"]);
    return OkStatus();
  }

  Status ReadTableRows(const YAML::Node& rows, const YAML::Node& names) {
    if (!rows.IsSequence()) return At(rows.Mark(), "tables: rows must be a list such as [4, 3, 2]");
    settings_.tables.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      LogicalTable table = settings_.table_defaults;
      table.name = fmt::format("t{}", i);
      RETURN_IF_ERROR(ReadTableOption("rows", rows[i], &table));
      settings_.tables.push_back(table);
    }
    return names.IsDefined() ? ReadTableNames(names) : OkStatus();
  }

  Status ReadTableNames(const YAML::Node& names) {
    if (!names.IsSequence() || names.size() != settings_.tables.size()) {
      return At(names.Mark(), "tables: names must be a list of {} names, one a table",
                settings_.tables.size());
    }
    for (size_t i = 0; i < names.size(); ++i) {
      RETURN_IF_ERROR(ReadTableOption("name", names[i], &settings_.tables[i]));
    }
    return CheckTableNames(names);
  }

  Status ReadTableList(const YAML::Node& list) {
    if (!list.IsSequence()) {
      return At(list.Mark(), "tables: list must be a list of maps such as {{name: user, rows: 9}}");
    }
    settings_.tables.clear();
    for (const YAML::Node& entry : list) {
      if (!entry.IsMap()) {
        return At(entry.Mark(), "an entry of tables: list must be a map of keys and values");
      }
      LogicalTable table = settings_.table_defaults;
      RETURN_IF_ERROR(ReadTableOptions(entry, "an entry of tables: list", {}, &table));
      for (const char* key : {"name", "rows"}) {
        if (!entry[key].IsDefined()) return At(entry.Mark(), "a table without \"{}\"", key);
      }
      settings_.tables.push_back(table);
    }
    return CheckTableNames(list);
  }

  Status CheckTableNames(const YAML::Node& list) const {
    std::set<std::string> names;
    for (size_t i = 0; i < settings_.tables.size(); ++i) {
      if (names.insert(settings_.tables[i].name).second) continue;
      return At(list[i].Mark(), "table \"{}\" is named twice", settings_.tables[i].name);
    }
    return OkStatus();
  }

  // `without`: keys this map does not have.
  Status ReadTableOptions(const YAML::Node& map, const std::string& where,
                          const std::vector<std::string>& without, LogicalTable* table) {
    // The kind first: it says which other keys there are.
    if (map.IsMap() && map["kind"].IsDefined()) {
      RETURN_IF_ERROR(ReadTableOption("kind", map["kind"], table));
    }
    std::vector<std::string> known = {"name", "kind"};
    for (const TableField& field : TableFields()) known.push_back(field.name);
    for (const std::string& option : KindOptionNames(table->kind)) known.push_back(option);
    std::erase_if(known, [&without](const std::string& key) {
      return std::find(without.begin(), without.end(), key) != without.end();
    });
    RETURN_IF_ERROR(CheckKeys(map, where + fmt::format(" (kind {})", table->kind), known));
    // First, because they replace what the defaults say of initial values.
    for (const char* key : {"initialiser", "init_from"}) {
      if (map[key].IsDefined()) RETURN_IF_ERROR(ReadInitialiserOption(key, map, table));
    }
    for (const auto& entry : map) {
      const std::string& key = entry.first.Scalar();
      if (key == "kind" || key == "initialiser" || key == "init_from") continue;
      RETURN_IF_ERROR(ReadTableOption(key, entry.second, table));
    }
    return OkStatus();
  }

  Status ReadInitialiserOption(const std::string& key, const YAML::Node& map, LogicalTable* table) {
    const std::string before = table->initialiser;
    RETURN_IF_ERROR(ReadTableOption(key, map[key], table));
    const bool are_both = key == "init_from" && map["initialiser"].IsDefined();
    if (!are_both || table->initialiser == before) return OkStatus();
    return At(map[key].Mark(),
              "init_from: {}: these are the initial values of initialiser npy, and initialiser: {} "
              "is given beside it; give only one of the two",
              map[key].Scalar(), before);
  }

  Status ReadTableOption(const std::string& key, const YAML::Node& value, LogicalTable* table) {
    std::string text;
    const std::vector<std::string> of_kind = KindOptionNames(table->kind);
    if (value.IsSequence() && std::find(of_kind.begin(), of_kind.end(), key) != of_kind.end()) {
      RETURN_IF_ERROR(JoinSequence(key, value, &text));
    } else {
      RETURN_IF_ERROR(ReadScalar(key, value, "a plain value", &text));
    }
    if (key == "name") {
      table->name = text;
      return OkStatus();
    }
    if (key == "kind") {
      const Status status = TableKinds().Validate(text);
      if (!status.ok()) return At(value.Mark(), "{}", status.message());
      // Options of another kind, from the defaults, mean nothing to this one.
      if (table->kind != text) table->kind_options.clear();
      table->kind = text;
      return OkStatus();
    }
    const TableField* field = FindTableField(key);
    if (field == nullptr) {
      table->kind_options[key] = text;
      return OkStatus();
    }
    const Status status = field->set(text, *table);
    if (status.ok()) return status;
    return At(value.Mark(), "{}: {}: {}", key, text, status.message());
  }

  Settings& settings_;
};

// A value as YAML: lists as [..], text quoted where YAML would read something else.
void EmitField(const SettingField& field, const std::string& text, YAML::Emitter& out) {
  switch (field.kind) {
    case SettingKind::kBool:
    case SettingKind::kNumber:
      out << text;
      return;
    case SettingKind::kText:
      out << YAML::DoubleQuoted << text;
      return;
    case SettingKind::kNumberList:
    case SettingKind::kTextList:
      break;
  }
  out << YAML::Flow << YAML::BeginSeq;
  const bool is_text = field.kind == SettingKind::kTextList;
  for (const std::string& item : is_text ? SplitAtCommas(text) : SplitList(text)) {
    if (is_text) out << YAML::DoubleQuoted;
    out << item;
  }
  out << YAML::EndSeq;
}

// A table with all that is not as in a fresh one, or as the settings of the run make it; words are
// quoted, because a name may be "yes".
void EmitTable(const LogicalTable& table, const OptimizerOptions& of_run, YAML::Emitter& out) {
  static const LogicalTable kFresh;
  LogicalTable inherited;
  inherited.optimizer_options = of_run;
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted
      << table.name << YAML::Key << "kind" << YAML::Value << table.kind;
  for (const TableField& field : TableFields()) {
    const std::string text = field.get(table);
    const bool is_plain_default = text == field.get(kFresh) && text == field.get(inherited) &&
                                  field.name != "optimizer" && field.name != "initialiser";
    if (is_plain_default) continue;
    out << YAML::Key << field.name << YAML::Value << YAML::DoubleQuoted << text;
  }
  for (const auto& [option, value] : table.kind_options) {
    out << YAML::Key << option << YAML::Value << YAML::DoubleQuoted << value;
  }
  out << YAML::EndMap;
}

}  // namespace

Status ReadYamlText(const std::string& text, const std::string& name, Settings* settings) {
  try {
    return YamlReader(name, settings).Read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return UsageError("{}:{}:{}: not YAML: {}", name, error.mark.line + 1, error.mark.column + 1,
                      error.msg);
  }
}

Status ReadYamlConfig(const std::string& path, Settings* settings) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return UsageError("--config: {}", text.status().message());
  return ReadYamlText(text.value(), path, settings);
}

std::string WriteYamlText(const Settings& settings) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const Section section : kSections) {
    out << YAML::Key << std::string(SectionName(section)) << YAML::Value << YAML::BeginMap;
    for (const SettingField& field : SettingFields()) {
      // Tables are written one by one below.
      if (field.section != section || field.name == "arch_embedding_size") continue;
      out << YAML::Key << field.name << YAML::Value;
      EmitField(field, field.get(settings), out);
    }
    out << YAML::EndMap;
  }
  if (!settings.tables.empty()) {
    out << YAML::Key << "tables" << YAML::Value << YAML::BeginMap;
    out << YAML::Key << "list" << YAML::Value << YAML::BeginSeq;
    for (const LogicalTable& table : settings.tables)
      EmitTable(table, settings.training.optimizer_options, out);
    out << YAML::EndSeq << YAML::EndMap;
  }
  if (!settings.data.schema.format.empty()) {
    out << YAML::Key << "schema" << YAML::Value;
    EmitYamlSchema(settings.data.schema, out);
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace rowhouse
