#include "launch/settings/key_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "worker/data/buckets.h"

namespace rowhouse {
namespace {

using Table = LogicalTable;

TableField OptimizerOption(const std::string& name) {
  const OptimizerOptionField& option = *FindOptimizerOption(name);
  const auto pick = [member = option.member](Table& table) -> float& {
    return table.optimizer_options.*member;
  };
  return MakeKey<Table>(name, OptimizerOptionValue(option), pick);
}

void AddDeclaredFields(std::vector<TableField>* fields) {
  const auto add = [fields](const DeclaredOption& option, OptionValues& (*pick)(Table&)) {
    CHECK(std::ranges::count(*fields, option.name(), &TableField::name) == 0)
        << option.name() << " means two things of a table";
    fields->push_back(MakeKey(option, pick));
  };
  for (const DeclaredOption& option : Optimizers().DeclaredOptions()) {
    add(option, [](Table& t) -> OptionValues& { return t.optimizer_options.own; });
  }
  for (const DeclaredOption& option : Initialisers().DeclaredOptions()) {
    add(option, [](Table& t) -> OptionValues& { return t.initialiser_options.own; });
  }
}

TableField InitialiserName() {
  TableField field = MakeKey<Table>("initialiser", NameValue(Initialisers()), &Table::initialiser);
  field.set = [set = field.set](const std::string& text, Table& table) {
    RETURN_IF_ERROR(set(text, table));
    SetInitialiser(text, &table);
    return OkStatus();
  };
  return field;
}

// Initial values from .npy files, one a physical table: says the initialiser and its files at once.
TableField InitFrom() {
  TableField field =
      MakeKey<Table>("init_from", TextValue("a path of a .npy file, or more joined by commas"),
                     [](Table& t) -> std::string& { return t.initialiser_options.file; });
  field.set = [set = field.set](const std::string& text, Table& table) {
    if (text.empty()) return OkStatus();
    SetInitialiser("npy", &table);
    return set(text, table);
  };
  return field;
}

TableField TableWord(std::string name, const std::vector<std::string>& words,
                     std::string Table::*member) {
  return MakeKey<Table>(std::move(name), WordValue(words), member);
}

std::vector<TableField> ShapeAndPooling() {
  Value<uint64_t> id = WholeValue<uint64_t>(0);
  id.expected = "an id of the table";
  return {
      MakeKey<Table>("rows", WholeValue<uint64_t>(1, uint64_t{1} << 63), &Table::rows),
      MakeKey<Table>("dim", WholeValue<uint32_t>(1, TableSpec::kMaxDim), &Table::dim),
      TableWord("pooling", {"sum", "mean", "max"}, &Table::pooling),
      TableWord("pooling_sum", {"bag_order", "exact"}, &Table::pooling_sum),
      TableWord("weighted_pooling", {"none", "fixed", "learned"}, &Table::weighted_pooling),
      MakeKey<Table>("padding_id", OrWord(id, "none"), &Table::padding_id),
      TableWord("bad_ids", {"error", "modulo", "padding"}, &Table::bad_ids),
      MakeKey<Table>("freeze", BoolValue(), &Table::freeze),
      MakeKey<Table>("strategy", NameValue(ShardingStrategies()), &Table::strategy),
      TableWord("pool_on", {"workers", "shards"}, &Table::pool_on),
      MakeKey<Table>("max_norm", RealValue<double>("a number of 0 or more (0: off)", IsNotNegative),
                     &Table::max_norm),
      MakeKey<Table>("norm_type", RealValue<double>("a number greater than 0", IsPositive),
                     &Table::norm_type),
      MakeKey<Table>("scale_grad_by_freq", BoolValue(), &Table::scale_grad_by_freq),
  };
}

std::vector<TableField> Optimizing() {
  return {
      MakeKey<Table>(
          "learning_rate",
          OrWord(RealValue<double>("a number from 0 to 3.4e38", IsFloatNotNegative), "run"),
          &Table::learning_rate),
      MakeKey<Table>("optimizer", RowOptimizerValue(), &Table::optimizer),
      OptimizerOption("epsilon"),
      OptimizerOption("initial_accumulator"),
      OptimizerOption("learning_rate_decay"),
      OptimizerOption("weight_decay"),
      OptimizerOption("momentum"),
      OptimizerOption("beta1"),
      OptimizerOption("beta2"),
      OptimizerOption("l1"),
      OptimizerOption("l2"),
      OptimizerOption("beta"),
  };
}

std::vector<TableField> PrecisionAndInitialValues() {
  return {
      TableWord("precision", PrecisionNames(), &Table::precision),
      InitialiserName(),
      MakeKey<Table>(
          "initial_scale",
          RealValue<double>("a number from 0 to 3.4e38 (0: the initialiser's own)",
                            IsFloatNotNegative),
          [](Table & t) -> auto& { return t.initialiser_options.scale; }),
      MakeKey<Table>(
          "initial_value", RealValue<double>("a number of at most 3.4e38", IsFiniteAsFloat),
          [](Table & t) -> auto& { return t.initialiser_options.value; }),
      InitFrom(),
  };
}

// Their order is that of the config digest: new ones go to the end.
std::vector<TableField> MakeTableFields() {
  std::vector<TableField> fields;
  for (auto* const some : {&ShapeAndPooling, &Optimizing, &PrecisionAndInitialValues}) {
    std::ranges::move(some(), std::back_inserter(fields));
  }
  return fields;
}

}  // namespace

SettingKind KindOf(DeclaredOption::Type type) {
  using Type = DeclaredOption::Type;
  if (type == Type::kBool) return SettingKind::kBool;
  return type == Type::kChoice || type == Type::kText ? SettingKind::kText : SettingKind::kNumber;
}

const OptimizerOptionField* FindOptimizerOption(std::string_view name) {
  const auto fields = OptimizerOptionFields();
  const auto found = std::ranges::find(fields, name, &OptimizerOptionField::name);
  return found == fields.end() ? nullptr : &*found;
}

Value<float> OptimizerOptionValue(const OptimizerOptionField& field) {
  return RealValue<float>(std::string(field.range), [is_legal = field.is_legal](double value) {
    return is_legal(static_cast<float>(value));
  });
}

Value<std::string> RowOptimizerValue() {
  Value<std::string> value = NameValue(Optimizers());
  std::map<std::string, std::string> names;  // by alias
  for (const std::string& name : Optimizers().Names()) {
    const std::string& alias = Optimizers().DeclarationOf(name).alias;
    if (alias.empty()) continue;
    names[alias] = name;
    value.expected += fmt::format(", or {}, which is {}", alias, name);
  }
  value.read = [read = value.read, names](const std::string& text) {
    const auto found = names.find(text);
    return read(found == names.end() ? text : found->second);
  };
  return value;
}

const std::vector<TableField>& TableFields() {
  static const std::vector<TableField> fields = [] {
    std::vector<TableField> all = MakeTableFields();
    AddDeclaredFields(&all);
    return all;
  }();
  return fields;
}

const TableField* FindTableField(const std::string& name) {
  const auto found = std::ranges::find(TableFields(), name, &TableField::name);
  return found == TableFields().end() ? nullptr : &*found;
}

// ---- Section schema -----------------------------------------------------------------------------

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

KeyField<LabelRule> RuleField() {
  const Value<LabelRule> value = MakeValue<LabelRule>(
      "a comparison such as \"== 1\", \"!= no\" or \">= 4\", or as_is: a number from 0 to 1",
      ParseRule, [](const LabelRule& rule) {
        if (rule.compare.empty()) return std::string("as_is");
        return fmt::format("{} {}", rule.compare, rule.value);
      });
  KeyField<LabelRule> field =
      MakeKey<LabelRule>("rule", value, [](LabelRule& rule) -> LabelRule& { return rule; });
  field.set = [set = field.set](const std::string& text, LabelRule& label) {
    const std::string column = label.column;
    RETURN_IF_ERROR(set(text, label));
    label.column = column;
    return OkStatus();
  };
  return field;
}

KeyField<CategoricalColumn> EdgesField() {
  const Value<std::string> value = {
      .expected = "quantiles(N), log2, floor_log_squared, or edges such as [0, 1, 10]",
      .read = [](const std::string& text) -> Result<std::string> {
        RETURN_IF_ERROR(ReadEdges(text).status());
        return text;
      },
      .print = [](const std::string& text) { return text; }};
  auto field = MakeKey<CategoricalColumn>("edges", value, &CategoricalColumn::edges);
  field.kind = SettingKind::kTextList;
  return field;
}

// " name="x" rows="2"": what is not as in a fresh Part.
template <typename Part>
std::string DescribeFields(const std::vector<KeyField<Part>>& fields, const Part& part) {
  static const Part kFresh;
  std::string text;
  for (const KeyField<Part>& field : fields) {
    const std::string value = field.get(part);
    if (value != field.get(kFresh)) text += fmt::format(" {}=\"{}\"", field.name, value);
  }
  return text;
}

}  // namespace

const std::vector<KeyField<Schema>>& SchemaFields() {
  static const std::vector<KeyField<Schema>> fields = {
      MakeKey<Schema>("format", TextValue("the name of a text format"), &Schema::format),
      MakeKey<Schema>("separator", SeparatorValue(), &Schema::separator),
      MakeKey<Schema>("quotes", BoolValue(), &Schema::has_quotes),
      MakeKey<Schema>("header", BoolValue(), &Schema::has_header),
      MakeKey<Schema>("weight", TextValue("the name of a column"), &Schema::weight),
  };
  return fields;
}

const std::vector<KeyField<LabelRule>>& LabelFields() {
  static const std::vector<KeyField<LabelRule>> fields = {
      MakeKey<LabelRule>("column", TextValue("the name of a column"), &LabelRule::column),
      RuleField(),
  };
  return fields;
}

const std::vector<KeyField<DenseColumn>>& DenseColumnFields() {
  static const std::vector<KeyField<DenseColumn>> fields = {
      MakeKey<DenseColumn>("name", TextValue("the name of a column"), &DenseColumn::name),
      MakeKey<DenseColumn>("transform", WordValue({"as_is", "log1p", "standardise"}),
                           &DenseColumn::transform),
      MakeKey<DenseColumn>("missing",
                           RealValue<float>("a number of at most 3.4e38", IsFiniteAsFloat),
                           &DenseColumn::missing),
  };
  return fields;
}

const std::vector<KeyField<CategoricalColumn>>& CategoricalFields() {
  using Column = CategoricalColumn;
  static const std::vector<KeyField<Column>> fields = {
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
      EdgesField(),
      MakeKey<Column>("of", TextValue("the name of a column of numbers"), &Column::of),
      MakeKey<Column>("cross",
                      ListValue("two names of categorical columns, such as [user, city]",
                                TextValue("the name of a column"), ',', /*may_be_empty=*/true),
                      &Column::cross),
  };
  return fields;
}

std::vector<std::string> DescribeSchema(const Schema& schema) {
  if (schema.format.empty()) return {};
  std::vector<std::string> lines = {"schema" + DescribeFields(SchemaFields(), schema)};
  for (const std::string& name : schema.columns) {
    lines.push_back(fmt::format("column \"{}\"", name));
  }
  lines.push_back("label" + DescribeFields(LabelFields(), schema.label));
  for (const DenseColumn& column : schema.dense) {
    lines.push_back("dense" + DescribeFields(DenseColumnFields(), column));
  }
  for (const CategoricalColumn& column : schema.categorical) {
    lines.push_back("categorical" + DescribeFields(CategoricalFields(), column));
  }
  for (const std::string& name : schema.ignored) {
    lines.push_back(fmt::format("ignored \"{}\"", name));
  }
  return lines;
}

}  // namespace rowhouse
