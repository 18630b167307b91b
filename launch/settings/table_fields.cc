#include "launch/settings/table_fields.h"

#include <algorithm>

#include "launch/settings/optimizer_rules.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

// One of the names of a family.
template <typename Family>
Value<std::string> MemberValue(const std::string& expected, const Family& family) {
  Value<std::string> value = TextValue(expected);
  value.read = [&family](const std::string& text) -> Result<std::string> {
    RETURN_IF_ERROR(family.Validate(text));
    return text;
  };
  return value;
}

TableField OptimizerName() {
  Value<std::string> value = MemberValue("a row optimizer", Optimizers());
  value.read = [read = value.read](const std::string& text) {
    return read(text == "rwsadagrad" ? "rowwise_adagrad" : text);
  };
  return MakeKey<LogicalTable>("optimizer", value, &LogicalTable::optimizer);
}

TableField OptimizerOption(const std::string& name) {
  const OptimizerOptionField& option = *FindOptimizerOption(name);
  return {.name = name,
          .expected = std::string(option.range),
          .set =
              [&option](const std::string& text, LogicalTable& table) {
                return ReadOptimizerOption(option, text, &table.optimizer_options);
              },
          .get =
              [&option](const LogicalTable& table) {
                return PrintOptimizerOption(option, table.optimizer_options);
              }};
}

// Of options that optimizers and initialisers declare themselves.
TableField DeclaredField(const DeclaredOption& option, OptionValues& (*pick)(LogicalTable&)) {
  return {.name = option.name(),
          .expected = option.expected(),
          .set = [=](const std::string& text,
                     LogicalTable& table) { return option.Set(text, &pick(table)); },
          .get =
              [=](const LogicalTable& table) {
                return option.TextIn(pick(const_cast<LogicalTable&>(table)));
              },
          .is_part_of_digest = option.is_part_of_digest()};
}

void AddDeclaredFields(std::vector<TableField>* fields) {
  const auto add = [fields](const DeclaredOption& option, OptionValues& (*pick)(LogicalTable&)) {
    CHECK(std::ranges::count(*fields, option.name(), &TableField::name) == 0)
        << option.name() << " means two things of a table";
    fields->push_back(DeclaredField(option, pick));
  };
  for (const DeclaredOption& option : Optimizers().DeclaredOptions()) {
    add(option, [](LogicalTable& t) -> OptionValues& { return t.optimizer_options.own; });
  }
  for (const DeclaredOption& option : Initialisers().DeclaredOptions()) {
    add(option, [](LogicalTable& t) -> OptionValues& { return t.initialiser_options.own; });
  }
}

TableField InitialiserName() {
  return {.name = "initialiser",
          .expected = "the name of an initialiser",
          .set =
              [](const std::string& text, LogicalTable& table) {
                RETURN_IF_ERROR(Initialisers().Validate(text));
                SetInitialiser(text, &table);
                return OkStatus();
              },
          .get = [](const LogicalTable& table) { return table.initialiser; }};
}

// Initial values from .npy files, one a physical table: says the initialiser and its files at once.
TableField InitFrom() {
  return {.name = "init_from",
          .expected = "a path of a .npy file, or more joined by commas",
          .set =
              [](const std::string& text, LogicalTable& table) {
                if (text.empty()) return OkStatus();
                SetInitialiser("npy", &table);
                table.initialiser_options.file = text;
                return OkStatus();
              },
          .get = [](const LogicalTable& table) { return table.initialiser_options.file; }};
}

using Table = LogicalTable;

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
      MakeKey<Table>("strategy",
                     MemberValue("the name of a sharding strategy", ShardingStrategies()),
                     &Table::strategy),
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
      OptimizerName(),
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

const std::vector<TableField>& TableFields() {
  static const std::vector<TableField> fields = [] {
    std::vector<TableField> all = MakeTableFields();
    AddDeclaredFields(&all);
    return all;
  }();
  return fields;
}

const TableField* FindTableField(const std::string& name) {
  for (const TableField& field : TableFields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string DescribeTableFields(const LogicalTable& table,
                                const std::vector<std::string>& left_out) {
  static const LogicalTable kFresh;
  std::string text;
  for (const TableField& field : TableFields()) {
    const bool is_left_out =
        std::find(left_out.begin(), left_out.end(), field.name) != left_out.end();
    if (is_left_out || !field.is_part_of_digest || field.get(table) == field.get(kFresh)) continue;
    text += fmt::format(" {}={}", field.name, field.get(table));
  }
  const std::vector<std::string>& outside = TableKinds().DeclarationOf(table.kind).outside_digest;
  for (const auto& [option, value] : table.kind_options) {
    if (std::ranges::count(outside, option) == 0) text += fmt::format(" {}={}", option, value);
  }
  return text;
}

}  // namespace rowhouse
