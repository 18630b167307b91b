// The settings as the YAML file that yaml_config.cc reads.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "common/read_value.h"
#include "launch/settings/key_fields.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/yaml_config.h"

namespace rowhouse {
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
  if (!settings.data.schema.format.empty()) {
    out << YAML::Key << "schema" << YAML::Value;
    EmitSchema(settings.data.schema, out);
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace rowhouse
