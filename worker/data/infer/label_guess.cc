#include <algorithm>
#include <array>

#include "common/nearest_name.h"
#include "worker/data/infer/inference.h"
#include "worker/data/text/field_text.h"

namespace rowhouse {
namespace {

// Names that labels have, best first.
constexpr std::array<std::string_view, 12> kLabelNames = {
    "label",     "click",    "clicked",    "target", "y",     "converted",
    "purchased", "purchase", "conversion", "rating", "liked", "score"};
// Texts that stand for a label of 1.
constexpr std::array<std::string_view, 7> kYes = {"1", "yes",   "true",    "t",
                                                  "y", "click", "positive"};

bool MeansYes(std::string_view text) { return std::ranges::count(kYes, LowerCase(text)) > 0; }

bool HasTwoTexts(const ColumnLook& column) { return column.tokens.distinct() == 2; }

bool CanBeLabel(const ColumnLook& column) {
  return HasTwoTexts(column) || (column.are_numbers() && column.tokens.distinct() > 1);
}

bool IsConstant(const ColumnLook& column) {
  return column.values > 0 && column.tokens.distinct() == 1;
}

std::string NamesText(const TextLook& look) {
  constexpr size_t kMax = 20;
  std::string text;
  for (size_t i = 0; i < std::min(look.columns.size(), kMax); ++i) {
    text += (i == 0 ? "" : ", ") + look.columns[i].name;
  }
  return look.columns.size() > kMax ? text + ", ..." : text;
}

Status SameInAllLines(const TextLook& look, const ColumnLook& column) {
  return UsageError(
      "\"{}\": the label \"{}\" is {} in all {} lines, so there is nothing to learn: give a file "
      "that has other samples, too, or name another column: --label_column=NAME, one of {}",
      look.first_file, column.name, column.texts.begin()->first, WrittenCount(column.values),
      NamesText(look));
}

// The first column, by the best name, whose name is that of a label, or has it among its words.
const ColumnLook* ColumnNamedAsLabel(const TextLook& look, bool (*fits)(const ColumnLook&)) {
  for (const bool is_whole_name : {true, false}) {
    for (const std::string_view name : kLabelNames) {
      for (const ColumnLook& column : look.columns) {
        const std::vector<std::string> words = WordsOfName(column.name);
        const bool is_named =
            is_whole_name ? LowerCase(column.name) == name : std::ranges::count(words, name) > 0;
        if (is_named && fits(column)) return &column;
      }
    }
  }
  return nullptr;
}

// The only column of zeros and ones, or of two values; of several, the first or last of the file.
Result<const ColumnLook*> LabelByValues(const TextLook& look) {
  std::vector<const ColumnLook*> of_digits, of_two;
  for (const ColumnLook& column : look.columns) {
    if (!HasTwoTexts(column) || column.missing > 0) continue;
    of_two.push_back(&column);
    if (column.texts.contains("0") && column.texts.contains("1")) of_digits.push_back(&column);
  }
  const std::vector<const ColumnLook*>& found = of_digits.empty() ? of_two : of_digits;
  if (found.size() == 1 || (!found.empty() && found.front() == &look.columns.front())) {
    return found.front();
  }
  if (!found.empty() && found.back() == &look.columns.back()) return found.back();
  return UsageError(
      "\"{}\": {}; name the label's column: --label_column=NAME, one of {}{}", look.first_file,
      found.empty() ? "no column looks like a label" : "several columns have two values",
      NamesText(look),
      look.columns.front().name.starts_with('#')
          ? "; or, if line 1, which begins with #, is a comment, take it away (sed 1d)"
          : "");
}

Result<const ColumnLook*> FindLabel(const TextLook& look, const std::string& name) {
  if (!name.empty()) {
    const auto found = std::ranges::find(look.columns, name, &ColumnLook::name);
    if (found != look.columns.end()) return &*found;
    std::vector<std::string> names;
    for (const ColumnLook& column : look.columns) names.push_back(column.name);
    return UsageError("--label_column={}: \"{}\" has no such column {}", name, look.first_file,
                      DescribeKnownNames(name, names));
  }
  if (const ColumnLook* const named = ColumnNamedAsLabel(look, CanBeLabel)) return named;
  if (const ColumnLook* const constant = ColumnNamedAsLabel(look, IsConstant)) return constant;
  return LabelByValues(look);
}

void RuleOfTwoTexts(const ColumnLook& column, LabelGuess* guess) {
  const auto& [a, a_count] = *column.texts.begin();
  const auto& [b, b_count] = *column.texts.rbegin();
  const bool is_known = MeansYes(a) != MeansYes(b);
  const bool is_a = is_known ? MeansYes(a) : a_count < b_count;
  const double ones = static_cast<double>(is_a ? a_count : b_count);
  guess->rule.compare = "==";
  guess->rule.value = is_a ? a : b;
  guess->why = fmt::format("\"{}\" is 1 ({:.3g} %){}, \"{}\" 0", is_a ? a : b,
                           100.0 * ones / static_cast<double>(a_count + b_count),
                           is_known ? "" : ", because it is rarer", is_a ? b : a);
}

void RuleOfNumbers(const ColumnLook& column, LabelGuess* guess) {
  if (column.min >= 0 && column.max <= 1) {
    guess->why = fmt::format("from 0 to 1, as it is; the mean is {:.3g}", column.mean());
    return;
  }
  const bool is_of_five = column.are_integers() && column.min >= 0 && column.max == 5;
  const double median = column.Quantile(0.5);
  const double limit = is_of_five ? 4
                       : median > column.min
                           ? median
                           : std::max(column.Quantile(0.75), 0.5 * (column.min + column.max));
  guess->rule.compare = ">=";
  guess->rule.value = fmt::format("{}", limit);
  guess->why = fmt::format("numbers from {:.6g} to {:.6g}; {} is 1", column.min, column.max,
                           is_of_five ? "four stars or five" : "the upper half");
}

}  // namespace

Result<LabelGuess> GuessLabel(const TextLook& look, const std::string& name) {
  ASSIGN_OR_RETURN(const ColumnLook* const found, FindLabel(look, name));
  const ColumnLook& column = *found;
  if (IsConstant(column)) return SameInAllLines(look, column);
  LabelGuess guess{.column = static_cast<size_t>(found - look.columns.data()),
                   .rule = {.column = column.name}};
  if (column.are_numbers() && (!HasTwoTexts(column) || (column.min >= 0 && column.max <= 1))) {
    RuleOfNumbers(column, &guess);
  } else if (HasTwoTexts(column)) {
    RuleOfTwoTexts(column, &guess);
  } else {
    return UsageError(
        "\"{}\": the label \"{}\" is neither a number nor one of two values: {} different in {} "
        "lines, such as \"{}\"; name another column: --label_column=NAME",
        look.first_file, column.name, WrittenCount(column.tokens.distinct()),
        WrittenCount(look.size.looked_at), column.texts.empty() ? "" : column.texts.begin()->first);
  }
  if (column.missing > 0) {
    guess.why += fmt::format("; missing in {} of {} lines: --max_bad_lines leaves them out",
                             WrittenCount(column.missing), WrittenCount(look.size.looked_at));
  }
  return guess;
}

}  // namespace rowhouse
