#include "launch/settings/schema_fields.h"

namespace rowhouse {
namespace {

Value<std::string> SeparatorValue() {
  return MakeValue<std::string>(
      "one character, or tab or space",
      [](const std::string& text) -> std::optional<std::string> {
        const std::string one = text == "tab" ? "\t" : text == "space" ? " " : text;
        if (one.size() != 1) return std::nullopt;
        return one;
      },
      [](const std::string& one) -> std::string {
        return one == "\t" ? "tab" : one == " " ? "space" : one;
      });
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<LabelRule> ParseRule(const std::string& text) {
  LabelRule rule;
  if (text == "as_is") return rule;
  const std::string_view trimmed = Trimmed(text);
  for (const char* compare : {"==", "!=", ">=", "<=", ">", "<"}) {
    if (!trimmed.starts_with(compare)) continue;
    rule.compare = compare;
    rule.value = Trimmed(trimmed.substr(rule.compare.size()));
    const bool is_order = rule.compare != "==" && rule.compare != "!=";
    if (rule.value.empty() || (is_order && !ReadReal(rule.value))) return std::nullopt;
    return rule;
  }
  return std::nullopt;
}

SchemaField<LabelRule> Rule() {
  const Value<LabelRule> value = MakeValue<LabelRule>(
      "a comparison such as \"== 1\", \"!= no\" or \">= 4\", or as_is: a number from 0 to 1",
      ParseRule, [](const LabelRule& rule) {
        if (rule.compare.empty()) return std::string("as_is");
        return fmt::format("{} {}", rule.compare, rule.value);
      });
  return {.name = "rule",
          .expected = value.expected,
          .set =
              [value](const std::string& text, LabelRule& label) {
                ASSIGN_OR_RETURN(LabelRule rule, value.read(text));
                rule.column = label.column;
                label = rule;
                return OkStatus();
              },
          .get = value.print};
}

// " name="x" rows="2"": what is not as in a fresh Part.
template <typename Part>
std::string DescribeFields(const std::vector<SchemaField<Part>>& fields, const Part& part) {
  static const Part kFresh;
  std::string text;
  for (const SchemaField<Part>& field : fields) {
    const std::string value = field.get(part);
    if (value != field.get(kFresh)) text += fmt::format(" {}=\"{}\"", field.name, value);
  }
  return text;
}

}  // namespace

const std::vector<SchemaField<Schema>>& SchemaFields() {
  static const std::vector<SchemaField<Schema>> fields = {
      MakeKey<Schema>("format", TextValue("the name of a text format"), &Schema::format),
      MakeKey<Schema>("separator", SeparatorValue(), &Schema::separator),
      MakeKey<Schema>("quotes", BoolValue(), &Schema::has_quotes),
      MakeKey<Schema>("header", BoolValue(), &Schema::has_header),
      MakeKey<Schema>("weight", TextValue("the name of a column"), &Schema::weight),
  };
  return fields;
}

const std::vector<SchemaField<LabelRule>>& LabelFields() {
  static const std::vector<SchemaField<LabelRule>> fields = {
      MakeKey<LabelRule>("column", TextValue("the name of a column"), &LabelRule::column),
      Rule(),
  };
  return fields;
}

const std::vector<SchemaField<DenseColumn>>& DenseColumnFields() {
  static const std::vector<SchemaField<DenseColumn>> fields = {
      MakeKey<DenseColumn>("name", TextValue("the name of a column"), &DenseColumn::name),
      MakeKey<DenseColumn>("transform", WordValue({"as_is", "log1p", "standardise"}),
                           &DenseColumn::transform),
      MakeKey<DenseColumn>("missing",
                           RealValue<float>("a number of at most 3.4e38", IsFiniteAsFloat),
                           &DenseColumn::missing),
  };
  return fields;
}

const std::vector<SchemaField<CategoricalColumn>>& CategoricalFields() {
  using Column = CategoricalColumn;
  static const std::vector<SchemaField<Column>> fields = {
      MakeKey<Column>("name", TextValue("the name of a column"), &Column::name),
      MakeKey<Column>("token", WordValue({"string", "integer", "hex"}), &Column::token),
      MakeKey<Column>("ids", WordValue({"hash", "modulo", "dictionary"}), &Column::ids),
      MakeKey<Column>("max_ind_range", WholeValue<uint64_t>(0), &Column::max_ind_range),
      MakeKey<Column>("min_count", WholeValue<uint64_t>(1), &Column::min_count),
      MakeKey<Column>("missing_row", BoolValue(), &Column::missing_row),
      MakeKey<Column>("rare_row", BoolValue(), &Column::rare_row),
      MakeKey<Column>("separator", TextValue("the text between two tokens"), &Column::separator),
      MakeKey<Column>("weight_separator", TextValue("the text between a token and its weight"),
                      &Column::weight_separator),
  };
  return fields;
}

std::string DescribeSchema(const Schema& schema) {
  if (schema.format.empty()) return "";
  std::string text = "schema" + DescribeFields(SchemaFields(), schema) + "\n";
  for (const std::string& name : schema.columns) text += fmt::format("column \"{}\"\n", name);
  text += "label" + DescribeFields(LabelFields(), schema.label) + "\n";
  for (const DenseColumn& column : schema.dense) {
    text += "dense" + DescribeFields(DenseColumnFields(), column) + "\n";
  }
  for (const CategoricalColumn& column : schema.categorical) {
    text += "categorical" + DescribeFields(CategoricalFields(), column) + "\n";
  }
  for (const std::string& name : schema.ignored) text += fmt::format("ignored \"{}\"\n", name);
  return text;
}

}  // namespace rowhouse
