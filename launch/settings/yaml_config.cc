#include "launch/settings/yaml_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/durable_file.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/settings/key_fields.h"
#include "launch/settings/setting_fields.h"
#include "sharding/tables/table_kind.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

std::string DescribeUnknownKey(const std::string& name, const std::string& where,
                               const std::vector<std::string>& known) {
  const SettingField* const elsewhere = FindSettingField(name);
  if (elsewhere == nullptr) {
    return fmt::format("unknown key \"{}\" in {} {}", name, where, DescribeKnownNames(name, known));
  }
  if (elsewhere->section == Section::kCommandLine || elsewhere->section == Section::kServer) {
    return fmt::format("\"{}\" is for the command line only: --{}", name, name);
  }
  return fmt::format("key \"{}\" belongs to section {}, not to {}", name,
                     SectionName(elsewhere->section), where);
}

// One file being read: every mistake says where it is.
class YamlReader {
 public:
  // `name` stands in messages: the path.
  YamlReader(std::string name, Settings* settings) : name_(std::move(name)), settings_(*settings) {}

  Status Read(const YAML::Node& root) {
    if (root.IsNull()) return OkStatus();  // An empty file, or comments only.
    std::vector<std::string> known;
    for (const Section section : kFileSections) known.emplace_back(SectionName(section));
    known.insert(known.begin() + 1, {"tables", "schema"});
    RETURN_IF_ERROR(CheckKeys(root, "the file", known));
    // Tables begin with what the other sections say, wherever in the file they stand.
    for (const Section section : kFileSections) {
      const YAML::Node node = root[std::string(SectionName(section))];
      if (node.IsDefined()) RETURN_IF_ERROR(ReadSection(section, node));
    }
    if (root["schema"].IsDefined()) {
      RETURN_IF_ERROR(ReadSchema(root["schema"], &settings_.data.text.schema));
    }
    if (root["tables"].IsDefined()) RETURN_IF_ERROR(ReadTables(root["tables"], root["model"]));
    return OkStatus();
  }

 private:
  // kUsage "configs/x.yaml:12:3: ...".
  template <typename... Args>
  Status At(const YAML::Mark& mark, fmt::format_string<Args...> format, Args&&... args) const {
    return UsageError("{}:{}:{}: {}", name_, mark.line + 1, mark.column + 1,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  // A map whose keys are known and occur once. `where` ends a sentence: "section training".
  Status CheckKeys(const YAML::Node& map, const std::string& where,
                   const std::vector<std::string>& known) const {
    if (!map.IsMap()) return At(map.Mark(), "{} must be a map of keys and values", where);
    std::map<std::string, int> line_of;
    for (const auto& entry : map) {
      const YAML::Node& key = entry.first;
      if (!key.IsScalar()) return At(key.Mark(), "a key of {} must be a plain word", where);
      const std::string& name = key.Scalar();
      const auto [first, is_new] = line_of.emplace(name, key.Mark().line + 1);
      if (!is_new) {
        return At(key.Mark(), "key \"{}\" is given twice in {}, first in line {}", name, where,
                  first->second);
      }
      if (std::ranges::count(known, name) == 0) {
        return At(key.Mark(), "{}", DescribeUnknownKey(name, where, known));
      }
    }
    return OkStatus();
  }

  // `expected` ends a sentence, for a value that is a list, a map or not there.
  Status ReadScalar(const std::string& key, const YAML::Node& value, const std::string& expected,
                    std::string* text) const {
    if (value.IsScalar()) {
      *text = value.Scalar();
      return OkStatus();
    }
    if (value.IsNull()) return At(value.Mark(), "{} has no value: expected {}", key, expected);
    return At(value.Mark(), "{} is a {}: expected {}", key, value.IsMap() ? "map" : "list",
              expected);
  }

  // The items of a list, joined by commas.
  Status JoinSequence(const std::string& key, const YAML::Node& sequence, std::string* text) const {
    for (size_t i = 0; i < sequence.size(); ++i) {
      std::string item;
      RETURN_IF_ERROR(ReadScalar(key, sequence[i], "plain values in the list", &item));
      *text += (i == 0 ? "" : ",") + item;
    }
    return OkStatus();
  }

  // Sets what `field` is of. `key`: the name it was given by.
  template <typename Part>
  Status ReadField(const std::string& key, const YAML::Node& value, const KeyField<Part>& field,
                   Part* part) const {
    std::string text;
    RETURN_IF_ERROR(value.IsSequence() && field.is_list()
                        ? JoinSequence(key, value, &text)
                        : ReadScalar(key, value, field.expected, &text));
    const Status status = field.set(text, *part);
    return status.ok() ? status : At(value.Mark(), "{}: {}: {}", key, text, status.message());
  }

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
      RETURN_IF_ERROR(ReadField<Settings>(key.Scalar(), value, field, &settings_));
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
    std::vector<std::string> known = NamesOf(TableFields());
    known.insert(known.begin(), {"name", "kind"});
    for (const std::string& option : KindOptionNames(table->kind)) known.push_back(option);
    std::erase_if(known, [&](const auto& key) { return std::ranges::count(without, key) > 0; });
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
    if (const TableField* const field = FindTableField(key)) {
      return ReadField(key, value, *field, table);
    }
    std::string text;
    RETURN_IF_ERROR(value.IsSequence() && key != "name" && key != "kind"
                        ? JoinSequence(key, value, &text)
                        : ReadScalar(key, value, "a plain value", &text));
    if (key == "name") {
      table->name = text;
    } else if (key == "kind") {
      const Status status = TableKinds().Validate(text);
      if (!status.ok()) return At(value.Mark(), "{}", status.message());
      // Options of another kind, from the defaults, mean nothing to this one.
      if (table->kind != text) table->kind_options.clear();
      table->kind = text;
    } else {
      table->kind_options[key] = text;
    }
    return OkStatus();
  }

  // ---- Section schema -----------------------------------------------------------------------

  Status ReadSchema(const YAML::Node& node, Schema* schema) const {
    *schema = Schema();
    std::vector<std::string> known = NamesOf(SchemaFields());
    known.insert(known.end(), {"label", "dense", "categorical", "columns", "ignored"});
    RETURN_IF_ERROR(CheckKeys(node, "section schema", known));
    for (const auto& entry : node) {
      const std::string& key = entry.first.Scalar();
      const YAML::Node& value = entry.second;
      if (key == "label") {
        RETURN_IF_ERROR(ReadPart(key, value, LabelFields(), &schema->label));
      } else if (key == "dense") {
        RETURN_IF_ERROR(ReadColumns(key, value, DenseColumnFields(), &schema->dense));
      } else if (key == "categorical") {
        RETURN_IF_ERROR(ReadColumns(key, value, CategoricalFields(), &schema->categorical));
        // A missing number is in no bucket.
        for (CategoricalColumn& column : schema->categorical) {
          column.missing_row = column.missing_row || column.is_bucket();
        }
      } else if (key == "columns" || key == "ignored") {
        RETURN_IF_ERROR(
            ReadNames(key, value, key == "columns" ? &schema->columns : &schema->ignored));
      } else {
        RETURN_IF_ERROR(ReadFieldOf(SchemaFields(), key, value, schema));
      }
    }
    if (schema->format.empty()) {
      return At(node.Mark(),
                "schema: no format: say which kind of text it is, as in format: delimited");
    }
    const Status status = CheckSchema(*schema);
    return status.ok() ? status : At(node.Mark(), "{}", status.message());
  }

  template <typename Part>
  static std::vector<std::string> NamesOf(const std::vector<KeyField<Part>>& fields) {
    std::vector<std::string> names;
    for (const KeyField<Part>& field : fields) names.push_back(field.name);
    return names;
  }

  template <typename Part>
  Status ReadFieldOf(const std::vector<KeyField<Part>>& fields, const std::string& key,
                     const YAML::Node& value, Part* part) const {
    return ReadField(key, value, *std::ranges::find(fields, key, &KeyField<Part>::name), part);
  }

  // A map of the part's keys, or its first key's value alone.
  template <typename Part>
  Status ReadPart(const std::string& where, const YAML::Node& node,
                  const std::vector<KeyField<Part>>& fields, Part* part) const {
    const std::string& first = fields.front().name;
    if (node.IsScalar()) return ReadFieldOf(fields, first, node, part);
    RETURN_IF_ERROR(CheckKeys(node, "schema: " + where, NamesOf(fields)));
    for (const auto& entry : node) {
      RETURN_IF_ERROR(ReadFieldOf(fields, entry.first.Scalar(), entry.second, part));
    }
    if (node[first].IsDefined()) return OkStatus();
    return At(node.Mark(), "schema: {}: no {}: expected {}", where, first, fields.front().expected);
  }

  template <typename Part>
  Status ReadColumns(const std::string& key, const YAML::Node& list,
                     const std::vector<KeyField<Part>>& fields, std::vector<Part>* columns) const {
    if (list.IsNull()) return OkStatus();
    if (!list.IsSequence()) {
      return At(list.Mark(), "schema: {} must be a list of columns, such as [age, {{name: price}}]",
                key);
    }
    for (const YAML::Node& entry : list) {
      RETURN_IF_ERROR(ReadPart(key, entry, fields, &columns->emplace_back()));
    }
    return OkStatus();
  }

  Status ReadNames(const std::string& key, const YAML::Node& list,
                   std::vector<std::string>* names) const {
    if (list.IsNull()) return OkStatus();
    if (list.IsScalar() && list.Scalar() == kAllOthers && key == "ignored") {
      names->push_back(kAllOthers);
      return OkStatus();
    }
    if (!list.IsSequence()) {
      return At(list.Mark(), "schema: {} must be a list of names, such as [id, time]{}", key,
                key == "ignored" ? ", or \"*\": all columns that nothing else names" : "");
    }
    for (const YAML::Node& entry : list) {
      RETURN_IF_ERROR(ReadScalar(key, entry, "the name of a column", &names->emplace_back()));
    }
    return OkStatus();
  }

  const std::string name_;
  Settings& settings_;
};

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

// ---- Writing ------------------------------------------------------------------------------------

namespace {

// A value as YAML: lists as [..], text quoted where YAML would read something else.
void EmitField(const SettingField& field, const std::string& text, YAML::Emitter& out) {
  const bool is_text = field.kind == SettingKind::kText || field.is_text_list();
  if (!field.is_list()) {
    if (is_text) out << YAML::DoubleQuoted;
    out << text;
    return;
  }
  out << YAML::Flow << YAML::BeginSeq;
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

// The keys that are not as in a fresh Part.
template <typename Part>
void EmitFields(const std::vector<KeyField<Part>>& fields, const Part& part, YAML::Emitter& out) {
  static const Part kFresh;
  for (const KeyField<Part>& field : fields) {
    const std::string text = field.get(part);
    if (text == field.get(kFresh)) continue;
    out << YAML::Key << field.name << YAML::Value;
    if (field.kind == SettingKind::kText) out << YAML::DoubleQuoted;
    out << text;
  }
}

template <typename Part>
void EmitPart(const std::vector<KeyField<Part>>& fields, const Part& part, YAML::Emitter& out) {
  out << YAML::Flow << YAML::BeginMap;
  EmitFields(fields, part, out);
  out << YAML::EndMap;
}

template <typename Part>
void EmitColumns(const char* key, const std::vector<KeyField<Part>>& fields,
                 const std::vector<Part>& columns, YAML::Emitter& out) {
  if (columns.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::BeginSeq;
  for (const Part& column : columns) EmitPart(fields, column, out);
  out << YAML::EndSeq;
}

void EmitNames(const char* key, const std::vector<std::string>& names, YAML::Emitter& out) {
  if (names.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const std::string& name : names) out << YAML::DoubleQuoted << name;
  out << YAML::EndSeq;
}

void EmitSchema(const Schema& schema, YAML::Emitter& out) {
  out << YAML::BeginMap;
  EmitFields(SchemaFields(), schema, out);
  EmitNames("columns", schema.columns, out);
  if (schema.label != LabelRule()) {
    out << YAML::Key << "label" << YAML::Value;
    EmitPart(LabelFields(), schema.label, out);
  }
  EmitColumns("dense", DenseColumnFields(), schema.dense, out);
  EmitColumns("categorical", CategoricalFields(), schema.categorical, out);
  EmitNames("ignored", schema.ignored, out);
  out << YAML::EndMap;
}

}  // namespace

std::string WriteYamlText(const Settings& settings) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const Section section : kFileSections) {
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
  if (!settings.data.text.schema.format.empty()) {
    out << YAML::Key << "schema" << YAML::Value;
    EmitSchema(settings.data.text.schema, out);
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace rowhouse
