#include "launch/settings/yaml_schema.h"

#include <algorithm>

#include "launch/settings/schema_fields.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

class SchemaReader {
 public:
  explicit SchemaReader(const YamlSource& source) : source_(source) {}

  Status Read(const YAML::Node& node, Schema* schema) const {
    *schema = Schema();
    std::vector<std::string> known = NamesOf(SchemaFields());
    known.insert(known.end(), {"label", "dense", "categorical", "columns", "ignored"});
    RETURN_IF_ERROR(source_.CheckKeys(node, "section schema", known));
    for (const auto& entry : node) {
      const std::string& key = entry.first.Scalar();
      const YAML::Node& value = entry.second;
      if (key == "label") {
        RETURN_IF_ERROR(ReadPart(key, value, LabelFields(), &schema->label));
      } else if (key == "dense") {
        RETURN_IF_ERROR(ReadColumns(key, value, DenseColumnFields(), &schema->dense));
      } else if (key == "categorical") {
        RETURN_IF_ERROR(ReadColumns(key, value, CategoricalFields(), &schema->categorical));
      } else if (key == "columns" || key == "ignored") {
        RETURN_IF_ERROR(
            ReadNames(key, value, key == "columns" ? &schema->columns : &schema->ignored));
      } else {
        RETURN_IF_ERROR(ReadField(key, value, SchemaFields(), schema));
      }
    }
    if (schema->format.empty()) {
      return source_.At(node.Mark(),
                        "schema: no format: say which kind of text it is, as in format: delimited");
    }
    const Status status = CheckSchema(*schema);
    return status.ok() ? status : source_.At(node.Mark(), "{}", status.message());
  }

 private:
  template <typename Part>
  static std::vector<std::string> NamesOf(const std::vector<SchemaField<Part>>& fields) {
    std::vector<std::string> names;
    for (const SchemaField<Part>& field : fields) names.push_back(field.name);
    return names;
  }

  template <typename Part>
  Status ReadField(const std::string& key, const YAML::Node& value,
                   const std::vector<SchemaField<Part>>& fields, Part* part) const {
    const auto field = std::ranges::find(fields, key, &SchemaField<Part>::name);
    std::string text;
    RETURN_IF_ERROR(source_.ReadScalar(key, value, field->expected, &text));
    const Status status = field->set(text, *part);
    if (status.ok()) return status;
    return source_.At(value.Mark(), "{}: {}: {}", key, text, status.message());
  }

  // A map of the part's keys, or its first key's value alone.
  template <typename Part>
  Status ReadPart(const std::string& where, const YAML::Node& node,
                  const std::vector<SchemaField<Part>>& fields, Part* part) const {
    const std::string& first = fields.front().name;
    if (node.IsScalar()) return ReadField(first, node, fields, part);
    RETURN_IF_ERROR(source_.CheckKeys(node, "schema: " + where, NamesOf(fields)));
    for (const auto& entry : node) {
      RETURN_IF_ERROR(ReadField(entry.first.Scalar(), entry.second, fields, part));
    }
    if (node[first].IsDefined()) return OkStatus();
    return source_.At(node.Mark(), "schema: {}: no {}: expected {}", where, first,
                      fields.front().expected);
  }

  template <typename Part>
  Status ReadColumns(const std::string& key, const YAML::Node& list,
                     const std::vector<SchemaField<Part>>& fields,
                     std::vector<Part>* columns) const {
    if (list.IsNull()) return OkStatus();
    if (!list.IsSequence()) {
      return source_.At(
          list.Mark(), "schema: {} must be a list of columns, such as [age, {{name: price}}]", key);
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
      return source_.At(list.Mark(), "schema: {} must be a list of names, such as [id, time]{}",
                        key,
                        key == "ignored" ? ", or \"*\": all columns that nothing else names" : "");
    }
    for (const YAML::Node& entry : list) {
      RETURN_IF_ERROR(
          source_.ReadScalar(key, entry, "the name of a column", &names->emplace_back()));
    }
    return OkStatus();
  }

  const YamlSource& source_;
};

// The keys that are not as in a fresh Part.
template <typename Part>
void EmitFields(const std::vector<SchemaField<Part>>& fields, const Part& part,
                YAML::Emitter& out) {
  static const Part kFresh;
  for (const SchemaField<Part>& field : fields) {
    const std::string text = field.get(part);
    if (text == field.get(kFresh)) continue;
    out << YAML::Key << field.name << YAML::Value;
    if (field.is_text) out << YAML::DoubleQuoted;
    out << text;
  }
}

template <typename Part>
void EmitPart(const std::vector<SchemaField<Part>>& fields, const Part& part, YAML::Emitter& out) {
  out << YAML::Flow << YAML::BeginMap;
  EmitFields(fields, part, out);
  out << YAML::EndMap;
}

template <typename Part>
void EmitColumns(const char* key, const std::vector<SchemaField<Part>>& fields,
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

}  // namespace

Status ReadYamlSchema(const YamlSource& source, const YAML::Node& node, Schema* schema) {
  return SchemaReader(source).Read(node, schema);
}

void EmitYamlSchema(const Schema& schema, YAML::Emitter& out) {
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

}  // namespace rowhouse
