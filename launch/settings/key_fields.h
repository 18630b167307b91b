// KeyField reads and writes one key: one member of a Part (Settings, LogicalTable, a schema
// struct). Lists of them read and write the maps of the YAML file and feed the config digest.
// Threads: const after construction; any thread.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/declared_option.h"
#include "common/registry.h"
#include "common/value.h"
#include "sharding/rows/optimizer_options.h"
#include "sharding/tables/logical_table.h"
#include "worker/data/schema.h"

namespace rowhouse {

enum class SettingKind { kBool, kNumber, kText, kNumberList, kTextList };

template <typename Part>
struct KeyField {
  std::string name = {};
  std::string expected = {};            // "a whole number of 1 or more"
  std::vector<std::string> words = {};  // all legal values, where it is one of a few
  SettingKind kind = SettingKind::kText;
  // Returns kUsage with a clause ("expected a whole number of 1 or more"; for an unknown name, that
  // of its family); the caller adds key and place. On error `part` is unchanged.
  std::function<Status(const std::string& text, Part& part)> set = {};
  std::function<std::string(const Part& part)> get = {};  // what `set` takes
  bool is_part_of_digest = true;

  bool is_list() const { return kind == SettingKind::kNumberList || is_text_list(); }
  bool is_text_list() const { return kind == SettingKind::kTextList; }
};

template <typename T>
constexpr SettingKind KindOf() {
  if (std::is_same_v<T, bool>) return SettingKind::kBool;
  if (std::is_arithmetic_v<T>) return SettingKind::kNumber;
  if (std::is_same_v<T, std::vector<std::string>>) return SettingKind::kTextList;
  if (requires(T list) { list.push_back({}); } && !std::is_same_v<T, std::string>) {
    return SettingKind::kNumberList;
  }
  return SettingKind::kText;
}
SettingKind KindOf(DeclaredOption::Type type);

// `pick`: a pointer to the member, or a function from Part& to a reference to it.
template <typename Part, typename T, typename Pick>
KeyField<Part> MakeKey(std::string name, const Value<T>& value, Pick pick) {
  return {.name = std::move(name),
          .expected = value.expected,
          .words = value.words,
          .kind = KindOf<T>(),
          .set =
              [value, pick](const std::string& text, Part& part) {
                ASSIGN_OR_RETURN(std::invoke(pick, part), value.read(text));
                return OkStatus();
              },
          .get =
              [value, pick](const Part& part) {
                return value.print(std::invoke(pick, const_cast<Part&>(part)));  // it only picks
              }};
}

// Of an option that members of a family declare; `pick`: where values of such options lie.
template <typename Part>
KeyField<Part> MakeKey(const DeclaredOption& option, OptionValues& (*pick)(Part&)) {
  return {.name = option.name(),
          .expected = option.expected(),
          .words = option.words(),
          .kind = KindOf(option.type()),
          .set = [option, pick](const std::string& text,
                                Part& part) { return option.Set(text, &pick(part)); },
          .get = [option,
                  pick](const Part& part) { return option.TextIn(pick(const_cast<Part&>(part))); }};
}

// The name of a member of a family.
template <typename... Family>
Value<std::string> NameValue(const Registry<Family...>& family) {
  Value<std::string> value = WordValue(family.Names());
  value.read = [&family](const std::string& text) -> Result<std::string> {
    RETURN_IF_ERROR(family.Validate(text));
    return text;
  };
  return value;
}

// ---- Optimizers: values that settings and tables share ------------------------------------------

// By its name in a table of the YAML file ("learning_rate_decay"); null if there is none.
const OptimizerOptionField* FindOptimizerOption(std::string_view name);

// Parses the text and rounds it to f32, the precision of the computation.
Value<float> OptimizerOptionValue(const OptimizerOptionField& field);

// The name or alias of an optimizer of rows.
Value<std::string> RowOptimizerValue();

// ---- A table of the YAML file, besides "name", "kind" and its kind's own options ----------------

using TableField = KeyField<LogicalTable>;

const std::vector<TableField>& TableFields();
// Null if there is none.
const TableField* FindTableField(const std::string& name);

// ---- Section schema -----------------------------------------------------------------------------

// Scalar keys of the section. Read separately: label, dense, categorical, columns, ignored.
const std::vector<KeyField<Schema>>& SchemaFields();
const std::vector<KeyField<LabelRule>>& LabelFields();                // column, rule
const std::vector<KeyField<DenseColumn>>& DenseColumnFields();        // name, ...
const std::vector<KeyField<CategoricalColumn>>& CategoricalFields();  // name, ...

// One line each for the section, the label and every column, with the fields that differ from the
// defaults; no lines without a format.
std::vector<std::string> DescribeSchema(const Schema& schema);

}  // namespace rowhouse
