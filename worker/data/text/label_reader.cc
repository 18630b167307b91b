#include "worker/data/text/label_reader.h"

#include <algorithm>
#include <array>

#include "worker/data/text/field_text.h"

namespace rowhouse {
namespace {

constexpr std::array<std::string_view, 7> kComparisons = {"", "==", "!=", ">", ">=", "<", "<="};

template <typename Value>
bool Holds(const Value& left, std::string_view compare, const Value& right) {
  if (compare == "==") return left == right;
  if (compare == "!=") return left != right;
  if (compare == ">") return left > right;
  if (compare == ">=") return left >= right;
  if (compare == "<") return left < right;
  return left <= right;
}

}  // namespace

Result<LabelReader> LabelReader::Make(const LabelRule& rule) {
  if (!std::ranges::count(kComparisons, rule.compare)) {
    return UsageError(
        "section schema: label compares by \"{}\"; the comparisons are ==, !=, >, >=, <, <=",
        rule.compare);
  }
  LabelReader made;
  made.rule_ = rule;
  made.value_ = DoubleOf(rule.value);
  return made;
}

std::optional<float> LabelReader::Of(std::string_view field) const {
  const std::optional<double> number = DoubleOf(field);
  if (rule_.compare.empty()) {
    if (!number || !(*number >= 0.0 && *number <= 1.0)) return std::nullopt;
    return static_cast<float>(*number);
  }
  if (field.empty() && !rule_.value.empty()) return std::nullopt;
  if (number && value_) return Holds(*number, rule_.compare, *value_) ? 1.0f : 0.0f;
  const bool is_equality = rule_.compare == "==" || rule_.compare == "!=";
  if (!is_equality) return std::nullopt;
  return Holds(field, rule_.compare, std::string_view(rule_.value)) ? 1.0f : 0.0f;
}

std::string LabelReader::expected() const {
  if (rule_.compare.empty()) {
    return "a label from 0 to 1 (or give it a rule in section schema, such as >= 4)";
  }
  if (rule_.compare == "==" || rule_.compare == "!=") return "a label";
  return fmt::format("a number to compare with {}", rule_.value);
}

}  // namespace rowhouse
