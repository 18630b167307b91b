#include "worker/data/text/sample_fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "common/nearest_name.h"
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

std::string NearestQuestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "" : fmt::format(". Did you mean \"{}\"?", nearest);
}

// All names that the schema uses.
std::vector<std::string> NamesIn(const Schema& schema) {
  std::vector<std::string> names = {schema.label.column};
  if (!schema.weight.empty()) names.push_back(schema.weight);
  for (const DenseColumn& column : schema.dense) names.push_back(column.name);
  for (const CategoricalColumn& column : schema.categorical) names.push_back(column.name);
  return names;
}

Status CheckNames(const Schema& schema, const std::vector<std::string>& names,
                  const std::string& where, bool are_all_named) {
  std::set<std::string_view> known;
  for (const std::string& name : names) {
    if (known.insert(name).second) continue;
    return UsageError("{}: two columns are named \"{}\"; rename one", where, name);
  }
  if (!are_all_named || std::ranges::count(schema.ignored, kAllOthers) > 0) return OkStatus();
  const std::vector<std::string> used = NamesIn(schema);
  std::vector<std::string> lost;  // used, and not there
  std::ranges::copy_if(used, std::back_inserter(lost),
                       [&](const std::string& name) { return !known.contains(name); });
  for (const std::string& name : names) {
    if (std::ranges::count(used, name) + std::ranges::count(schema.ignored, name) > 0) continue;
    return UsageError(
        "{}: section schema does not name column \"{}\"; say what it is, or add it to `ignored` "
        "(\"*\" there stands for all others){}",
        where, name, NearestQuestion(name, lost));
  }
  return OkStatus();
}

// What a text seems to be, as the rest of an error of its first line: "; the file looks like
// comma-separated values with a header (age, city, ...): describe it in section schema ...", or "".
// `first_record`: without its line end.
std::string GuessOfText(std::string_view first_record) {
  constexpr std::string_view kSeparators = ",\t;|";
  constexpr std::array kNames = {"comma-separated values", "tab-separated values",
                                 "semicolon-separated values", "values separated by |"};
  size_t best = 0;
  const auto count = [&](size_t i) { return std::ranges::count(first_record, kSeparators[i]); };
  for (size_t i = 1; i < kSeparators.size(); ++i) best = count(i) > count(best) ? i : best;
  if (count(best) == 0) return "";
  bool has_header = true;  // no field is a number
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = first_record.find(kSeparators[best], begin);
    const std::string_view field = first_record.substr(begin, end - begin);
    has_header = has_header && !field.empty() && !DoubleOf(field);
  }
  return fmt::format(
      "; the file looks like {} {} ({}); `rowhouse data infer` writes the section schema of the "
      "YAML file for it",
      kNames[best], has_header ? "with a header" : "without a header", ShownField(first_record));
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

Result<SampleFields> SampleFields::Make(const Schema& schema, const std::vector<std::string>& names,
                                        const std::string& where, bool needs_label,
                                        bool are_all_named) {
  const auto find = [&](const std::string& name) -> Result<size_t> {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    return UsageError("{}: there is no column \"{}\", which section schema names{}", where, name,
                      NearestQuestion(name, names));
  };
  SampleFields made;
  made.names_ = names;
  ASSIGN_OR_RETURN(made.label_reader_, LabelReader::Make(schema.label));
  const auto is_there = [&](const std::string& name) {
    return std::ranges::count(names, name) > 0;
  };
  if (needs_label || is_there(schema.label.column)) {
    ASSIGN_OR_RETURN(made.label_, find(schema.label.column));
  }
  if (!schema.weight.empty() && (needs_label || is_there(schema.weight))) {
    ASSIGN_OR_RETURN(made.weight_, find(schema.weight));
  }
  for (const DenseColumn& column : schema.dense) {
    ASSIGN_OR_RETURN(const size_t field, find(column.name));
    made.dense_.push_back(field);
  }
  for (const CategoricalColumn& column : schema.categorical) {
    ASSIGN_OR_RETURN(const size_t field, find(column.name));
    const std::optional<TokenType> type = TokenTypeOf(column.token);
    if (!type) {
      return UsageError(
          "section schema: column \"{}\" has tokens of type \"{}\"; expected string, "
          "integer or hex",
          column.name, column.token);
    }
    made.tokens_.push_back({field, *type, column.separator, column.weight_separator});
  }
  RETURN_IF_ERROR(CheckNames(schema, names, where, are_all_named));
  return made;
}

void SampleFields::Begin(Batch* batch) const { batch->Clear(dense_.size(), tokens_.size()); }

FieldFault SampleFields::Fault(size_t field, std::string_view text,
                               std::string_view expected) const {
  return {field,
          fmt::format("{} is \"{}\", expected {}", names_[field], ShownField(text), expected)};
}

std::optional<FieldFault> SampleFields::AddToken(const Token& column, std::string_view text,
                                                 Bags* bags) const {
  std::string_view token = text;
  float weight = 1.0f;
  if (!column.weight_separator.empty()) {
    if (const size_t at = text.rfind(column.weight_separator); at != std::string_view::npos) {
      token = text.substr(0, at);
      const std::optional<float> given = FloatOf(text.substr(at + column.weight_separator.size()));
      if (!given) {
        return Fault(column.field, text,
                     fmt::format("a token, \"{}\" and its weight", column.weight_separator));
      }
      weight = *given;
    }
  }
  if (column.type != TokenType::kString) token = Trimmed(token);
  const std::optional<uint64_t> key = TokenKey(column.type, token);
  if (!key) return Fault(column.field, token, ExpectedToken(column.type));
  bags->ids.push_back(*key);
  if (!column.weight_separator.empty()) bags->weights.push_back(weight);
  return std::nullopt;
}

std::optional<FieldFault> SampleFields::AddTokens(const Token& column, std::string_view field,
                                                  Bags* bags) const {
  const bool is_missing =
      column.type == TokenType::kString ? field.empty() : IsMissingNumber(field);
  if (!is_missing && column.separator.empty()) {
    if (auto fault = AddToken(column, field, bags)) return fault;
  } else if (!is_missing) {
    for (size_t begin = 0; begin <= field.size();) {
      const size_t end = std::min(field.find(column.separator, begin), field.size());
      if (end > begin) {
        if (auto fault = AddToken(column, field.substr(begin, end - begin), bags)) return fault;
      }
      begin = end + column.separator.size();
    }
  }
  bags->EndBag();
  return std::nullopt;
}

std::optional<FieldFault> SampleFields::AddAll(std::span<const std::string_view> fields,
                                               Batch* batch) const {
  if (label_) {
    const std::optional<float> label = label_reader_->Of(fields[*label_]);
    if (!label) return Fault(*label_, fields[*label_], label_reader_->expected());
    batch->labels.push_back(*label);
  }
  if (weight_) {
    const std::optional<float> weight = FloatOf(fields[*weight_]);
    if (!weight || *weight < 0) {
      return Fault(*weight_, fields[*weight_], "the weight of a sample, 0 or more");
    }
    batch->weights.push_back(*weight);
  }
  for (const size_t field : dense_) {
    float value = std::numeric_limits<float>::quiet_NaN();
    if (!IsMissingNumber(fields[field])) {
      const std::optional<float> given = FloatOf(fields[field]);
      if (!given) return Fault(field, fields[field], "a number, or nothing");
      value = *given;
    }
    batch->dense.push_back(value);
  }
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const Token& column = tokens_[i];
    if (auto fault = AddTokens(column, fields[column.field], &batch->features[i])) return fault;
  }
  return std::nullopt;
}

std::optional<FieldFault> SampleFields::Add(std::span<const std::string_view> fields,
                                            Batch* batch) const {
  CHECK_EQ(fields.size(), names_.size());
  std::optional<FieldFault> fault = AddAll(fields, batch);
  if (!fault) {
    ++batch->samples;
    return std::nullopt;
  }
  batch->Truncate(batch->samples);
  return fault;
}

uint64_t BadRecords::LineOf(size_t position) {
  const std::string& bytes = chunk_.bytes;
  if (position < counted_to_) counted_to_ = lines_ = 0;
  lines_ +=
      static_cast<uint64_t>(std::count(bytes.begin() + static_cast<ptrdiff_t>(counted_to_),
                                       bytes.begin() + static_cast<ptrdiff_t>(position), '\n'));
  counted_to_ = position;
  return chunk_.first_line + lines_;
}

void BadRecords::Add(size_t record, size_t position, std::string_view message) {
  const uint64_t first_line = LineOf(record);
  const uint64_t line = LineOf(position);
  size_t line_begin = 0;
  if (position > 0) {
    const size_t end = chunk_.bytes.rfind('\n', position - 1);
    if (end != std::string::npos) line_begin = end + 1;
  }
  const std::string guess = first_line == 1 ? GuessOfText(*chunk_.first_record) : "";
  bad_.push_back(
      {first_line, fmt::format("{}:{}:{}: {}; mend or remove the line{}", chunk_.file_name, line,
                               position - line_begin + 1, message, guess)});
}

void BadRecords::AddEmpty(size_t record) {
  const uint64_t line = LineOf(record);
  bad_.push_back({line, fmt::format("{}:{}:1: the line is empty and others follow; remove it",
                                    chunk_.file_name, line)});
}

}  // namespace rowhouse
