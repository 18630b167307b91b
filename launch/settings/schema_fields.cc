#include "launch/settings/schema_fields.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "common/nearest_name.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

Status ExpectedInSchema(const std::string& what) { return UsageError("expected {}", what); }

template <typename Part>
SchemaField<Part> SchemaText(std::string name, std::string what, std::string Part::*member) {
  return {.name = std::move(name),
          .expected = std::move(what),
          .set =
              [member](const std::string& text, Part& part) {
                part.*member = text;
                return OkStatus();
              },
          .get = [member](const Part& part) { return part.*member; }};
}

template <typename Part>
SchemaField<Part> SchemaWord(std::string name, std::vector<std::string> words,
                             std::string Part::*member) {
  const std::string what = fmt::format("one of {}", fmt::join(words, ", "));
  return {.name = std::move(name),
          .expected = what,
          .set =
              [words = std::move(words), member](const std::string& text, Part& part) {
                if (std::ranges::count(words, text) == 0) {
                  return UsageError("unknown \"{}\" {}", text, DescribeKnownNames(text, words));
                }
                part.*member = text;
                return OkStatus();
              },
          .get = [member](const Part& part) { return part.*member; }};
}

template <typename Part>
SchemaField<Part> SchemaWhole(std::string name, uint64_t low, uint64_t Part::*member) {
  const std::string what = fmt::format("a whole number of {} or more", low);
  return {.name = std::move(name),
          .expected = what,
          .is_text = false,
          .set =
              [=](const std::string& text, Part& part) {
                const auto value = ReadWhole(text);
                if (!value || *value < low) return ExpectedInSchema(what);
                part.*member = *value;
                return OkStatus();
              },
          .get = [member](const Part& part) { return fmt::format("{}", part.*member); }};
}

template <typename Part>
SchemaField<Part> SchemaBool(std::string name, bool Part::*member) {
  return {.name = std::move(name),
          .expected = "true or false",
          .is_text = false,
          .set =
              [member](const std::string& text, Part& part) {
                const auto value = ReadBool(text);
                if (!value) return ExpectedInSchema("true or false");
                part.*member = *value;
                return OkStatus();
              },
          .get = [member](const Part& part) { return part.*member ? "true" : "false"; }};
}

SchemaField<Schema> Separator() {
  const std::string what = "one character, or tab or space";
  return {.name = "separator",
          .expected = what,
          .set =
              [what](const std::string& text, Schema& schema) {
                const std::string one = text == "tab" ? "\t" : text == "space" ? " " : text;
                if (one.size() != 1) return ExpectedInSchema(what);
                schema.separator = one;
                return OkStatus();
              },
          .get =
              [](const Schema& schema) {
                return schema.separator == "\t"  ? "tab"
                       : schema.separator == " " ? "space"
                                                 : schema.separator;
              }};
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

SchemaField<LabelRule> Rule() {
  const std::string what =
      "a comparison such as \"== 1\", \"!= no\" or \">= 4\", or as_is: a number from 0 to 1";
  return {.name = "rule",
          .expected = what,
          .set =
              [what](const std::string& text, LabelRule& label) {
                label.compare = label.value = "";
                if (text == "as_is") return OkStatus();
                for (const char* compare : {"==", "!=", ">=", "<=", ">", "<"}) {
                  const std::string_view trimmed = Trimmed(text);
                  if (!trimmed.starts_with(compare)) continue;
                  label.compare = compare;
                  label.value = Trimmed(trimmed.substr(label.compare.size()));
                  if (label.value.empty()) return ExpectedInSchema(what);
                  const bool is_order = label.compare != "==" && label.compare != "!=";
                  if (is_order && !ReadReal(label.value)) return ExpectedInSchema(what);
                  return OkStatus();
                }
                return ExpectedInSchema(what);
              },
          .get =
              [](const LabelRule& label) {
                if (label.compare.empty()) return std::string("as_is");
                return fmt::format("{} {}", label.compare, label.value);
              }};
}

SchemaField<DenseColumn> Missing() {
  const std::string what = "a number of at most 3.4e38";
  return {.name = "missing",
          .expected = what,
          .is_text = false,
          .set =
              [what](const std::string& text, DenseColumn& column) {
                const auto value = ReadReal(text);
                if (!value || !IsFiniteAsFloat(*value)) return ExpectedInSchema(what);
                column.missing = static_cast<float>(*value);
                return OkStatus();
              },
          .get = [](const DenseColumn& column) { return fmt::format("{}", column.missing); }};
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
      SchemaText("format", "the name of a text format", &Schema::format),
      Separator(),
      SchemaBool("quotes", &Schema::has_quotes),
      SchemaBool("header", &Schema::has_header),
      SchemaText("weight", "the name of a column", &Schema::weight),
  };
  return fields;
}

const std::vector<SchemaField<LabelRule>>& LabelFields() {
  static const std::vector<SchemaField<LabelRule>> fields = {
      SchemaText("column", "the name of a column", &LabelRule::column),
      Rule(),
  };
  return fields;
}

const std::vector<SchemaField<DenseColumn>>& DenseColumnFields() {
  static const std::vector<SchemaField<DenseColumn>> fields = {
      SchemaText("name", "the name of a column", &DenseColumn::name),
      SchemaWord("transform", {"as_is", "log1p", "standardise"}, &DenseColumn::transform),
      Missing(),
  };
  return fields;
}

const std::vector<SchemaField<CategoricalColumn>>& CategoricalFields() {
  using Column = CategoricalColumn;
  static const std::vector<SchemaField<Column>> fields = {
      SchemaText("name", "the name of a column", &Column::name),
      SchemaWord("token", {"string", "integer", "hex"}, &Column::token),
      SchemaWord("ids", {"hash", "modulo", "dictionary"}, &Column::ids),
      SchemaWhole("max_ind_range", 0, &Column::max_ind_range),
      SchemaWhole("min_count", 1, &Column::min_count),
      SchemaBool("missing_row", &Column::missing_row),
      SchemaBool("rare_row", &Column::rare_row),
      SchemaText("separator", "the text between two tokens", &Column::separator),
      SchemaText("weight_separator", "the text between a token and its weight",
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
