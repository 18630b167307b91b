#include "launch/settings/table_fields.h"

#include <algorithm>

#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/settings/optimizer_fields.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

Status ExpectedInTable(const std::string& what) { return UsageError("expected {}", what); }

bool IsTableNumberPositive(double value) { return value > 0.0; }
bool IsTableNumberNotNegative(double value) { return value >= 0.0; }
bool IsTableFloatNotNegative(double value) { return value >= 0.0 && IsFiniteAsFloat(value); }

TableField TableWhole(std::string name, uint64_t low, uint64_t high,
                      void (*write)(LogicalTable&, uint64_t),
                      uint64_t (*read)(const LogicalTable&)) {
  const std::string what = fmt::format("a whole number from {} to {}", low, high);
  return {.name = std::move(name),
          .expected = what,
          .set =
              [=](const std::string& text, LogicalTable& table) {
                const auto value = ReadWhole(text);
                if (!value || *value < low || *value > high) return ExpectedInTable(what);
                write(table, *value);
                return OkStatus();
              },
          .get = [read](const LogicalTable& table) { return fmt::format("{}", read(table)); }};
}

template <typename T>
TableField TableReal(std::string name, std::string what, bool (*is_legal)(double),
                     T& (*member)(LogicalTable&)) {
  return {.name = std::move(name),
          .expected = what,
          .set =
              [=](const std::string& text, LogicalTable& table) {
                const auto value = ReadReal(text);
                if (!value || !is_legal(static_cast<double>(static_cast<T>(*value)))) {
                  return ExpectedInTable(what);
                }
                member(table) = static_cast<T>(*value);
                return OkStatus();
              },
          .get =
              [member](const LogicalTable& table) {
                return fmt::format("{}", member(const_cast<LogicalTable&>(table)));
              }};
}

TableField TableBool(std::string name, bool& (*member)(LogicalTable&)) {
  return {.name = std::move(name),
          .expected = "true or false",
          .set =
              [member](const std::string& text, LogicalTable& table) {
                const auto value = ReadBool(text);
                if (!value) return ExpectedInTable("true or false");
                member(table) = *value;
                return OkStatus();
              },
          .get =
              [member](const LogicalTable& table) {
                return std::string(member(const_cast<LogicalTable&>(table)) ? "true" : "false");
              }};
}

// One of a few words, or what `check` accepts.
TableField TableWord(std::string name, std::string what, Status (*check)(const std::string&),
                     std::string& (*member)(LogicalTable&)) {
  return {
      .name = std::move(name),
      .expected = std::move(what),
      .set =
          [=](const std::string& text, LogicalTable& table) {
            RETURN_IF_ERROR(check(text));
            member(table) = text;
            return OkStatus();
          },
      .get =
          [member](const LogicalTable& table) { return member(const_cast<LogicalTable&>(table)); }};
}

Status OneOf(const std::string& text, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return OkStatus();
  return UsageError("unknown \"{}\" {}", text, DescribeKnownNames(text, words));
}

TableField PaddingId() {
  const std::string what = "an id of the table, or none";
  return {.name = "padding_id",
          .expected = what,
          .set =
              [what](const std::string& text, LogicalTable& table) {
                const auto value = ReadWhole(text);
                if (!value && text != "none") return ExpectedInTable(what);
                table.padding_id = value ? std::optional<uint64_t>(*value) : std::nullopt;
                return OkStatus();
              },
          .get =
              [](const LogicalTable& table) {
                return table.padding_id ? fmt::format("{}", *table.padding_id) : "none";
              }};
}

TableField LearningRate() {
  const std::string what = "a number from 0 to 3.4e38, or run";
  return {.name = "learning_rate",
          .expected = what,
          .set =
              [what](const std::string& text, LogicalTable& table) {
                const auto value = ReadReal(text);
                if (text != "run" && (!value || !IsTableFloatNotNegative(*value)))
                  return ExpectedInTable(what);
                table.learning_rate = text == "run" ? std::nullopt : std::optional<double>(*value);
                return OkStatus();
              },
          .get =
              [](const LogicalTable& table) {
                return table.learning_rate ? fmt::format("{}", *table.learning_rate) : "run";
              }};
}

TableField OptimizerName() {
  return {.name = "optimizer",
          .expected = "a row optimizer",
          .set =
              [](const std::string& text, LogicalTable& table) {
                const std::string name = text == "rwsadagrad" ? "rowwise_adagrad" : text;
                RETURN_IF_ERROR(Optimizers().Validate(name));
                table.optimizer = name;
                return OkStatus();
              },
          .get = [](const LogicalTable& table) { return table.optimizer; }};
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

#define TABLE_MEMBER(type, path) [](LogicalTable& t) -> type& { return t.path; }

std::vector<TableField> ShapeAndPooling() {
  return {
      TableWhole(
          "rows", 1, uint64_t{1} << 63, [](LogicalTable& t, uint64_t v) { t.rows = v; },
          [](const LogicalTable& t) { return t.rows; }),
      TableWhole(
          "dim", 1, 4096, [](LogicalTable& t, uint64_t v) { t.dim = static_cast<uint32_t>(v); },
          [](const LogicalTable& t) { return uint64_t{t.dim}; }),
      TableWord(
          "pooling", "sum, mean or max",
          [](const std::string& text) {
            return OneOf(text, {"sum", "mean", "max"});
          },
          TABLE_MEMBER(std::string, pooling)),
      TableWord(
          "pooling_sum", "bag_order or exact",
          [](const std::string& text) {
            return OneOf(text, {"bag_order", "exact"});
          },
          TABLE_MEMBER(std::string, pooling_sum)),
      TableWord(
          "weighted_pooling", "none, fixed or learned",
          [](const std::string& text) {
            return OneOf(text, {"none", "fixed", "learned"});
          },
          TABLE_MEMBER(std::string, weighted_pooling)),
      PaddingId(),
      TableWord(
          "bad_ids", "error, modulo or padding",
          [](const std::string& text) {
            return OneOf(text, {"error", "modulo", "padding"});
          },
          TABLE_MEMBER(std::string, bad_ids)),
      TableBool("freeze", TABLE_MEMBER(bool, freeze)),
      TableWord(
          "strategy", "the name of a sharding strategy",
          [](const std::string& text) { return ShardingStrategies().Validate(text); },
          TABLE_MEMBER(std::string, strategy)),
      TableWord(
          "pool_on", "workers or shards",
          [](const std::string& text) {
            return OneOf(text, {"workers", "shards"});
          },
          TABLE_MEMBER(std::string, pool_on)),
      TableReal<double>("max_norm", "a number of 0 or more (0: off)", IsTableNumberNotNegative,
                        TABLE_MEMBER(double, max_norm)),
      TableReal<double>("norm_type", "a number greater than 0", IsTableNumberPositive,
                        TABLE_MEMBER(double, norm_type)),
      TableBool("scale_grad_by_freq", TABLE_MEMBER(bool, scale_grad_by_freq)),
  };
}

std::vector<TableField> Optimizing() {
  return {
      LearningRate(),
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
      TableWord(
          "precision", "f32, bf16 or f16",
          [](const std::string& text) { return OneOf(text, PrecisionNames()); },
          TABLE_MEMBER(std::string, precision)),
      InitialiserName(),
      TableReal<double>("initial_scale", "a number from 0 to 3.4e38 (0: the initialiser's own)",
                        IsTableFloatNotNegative, TABLE_MEMBER(double, initialiser_options.scale)),
      TableReal<double>("initial_value", "a number of at most 3.4e38", IsFiniteAsFloat,
                        TABLE_MEMBER(double, initialiser_options.value)),
      InitFrom(),
  };
}

#undef TABLE_MEMBER

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
  const std::vector<std::string>& outside = DeclarationOfKind(table.kind).outside_digest;
  for (const auto& [option, value] : table.kind_options) {
    if (std::ranges::count(outside, option) == 0) text += fmt::format(" {}={}", option, value);
  }
  return text;
}

}  // namespace rowhouse
