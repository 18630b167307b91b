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

bool HasTwoTexts(const ColumnSurvey& column) { return column.tokens.distinct() == 2; }

bool CanBeLabel(const ColumnSurvey& column) {
  return HasTwoTexts(column) || (column.are_numbers() && column.tokens.distinct() > 1);
}

bool IsConstant(const ColumnSurvey& column) {
  return column.values > 0 && column.tokens.distinct() == 1;
}

std::string NamesText(const TextSurvey& survey) {
  constexpr size_t kMax = 20;
  std::string text;
  for (size_t i = 0; i < std::min(survey.columns.size(), kMax); ++i) {
    text += (i == 0 ? "" : ", ") + survey.columns[i].name;
  }
  return survey.columns.size() > kMax ? text + ", ..." : text;
}

Status SameInAllLines(const TextSurvey& survey, const ColumnSurvey& column) {
  return UsageError(
      "\"{}\": the label \"{}\" is {} in all {} lines, so there is nothing to learn: give a file "
      "that has other samples, too, or name another column: --label_column=NAME, one of {}",
      survey.first_file, column.name, column.texts.begin()->first, WrittenCount(column.values),
      NamesText(survey));
}

// The first column, by the best name, whose name is that of a label, or has it among its words.
const ColumnSurvey* ColumnNamedAsLabel(const TextSurvey& survey,
                                       bool (*fits)(const ColumnSurvey&)) {
  for (const bool is_whole_name : {true, false}) {
    for (const std::string_view name : kLabelNames) {
      for (const ColumnSurvey& column : survey.columns) {
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
Result<const ColumnSurvey*> LabelByValues(const TextSurvey& survey) {
  std::vector<const ColumnSurvey*> of_digits, of_two;
  for (const ColumnSurvey& column : survey.columns) {
    if (!HasTwoTexts(column) || column.missing > 0) continue;
    of_two.push_back(&column);
    if (column.texts.contains("0") && column.texts.contains("1")) of_digits.push_back(&column);
  }
  const std::vector<const ColumnSurvey*>& found = of_digits.empty() ? of_two : of_digits;
  if (found.size() == 1 || (!found.empty() && found.front() == &survey.columns.front())) {
    return found.front();
  }
  if (!found.empty() && found.back() == &survey.columns.back()) return found.back();
  return UsageError(
      "\"{}\": {}; name the label's column: --label_column=NAME, one of {}{}", survey.first_file,
      found.empty() ? "no column looks like a label" : "several columns have two values",
      NamesText(survey),
      survey.columns.front().name.starts_with('#')
          ? "; or, if line 1, which begins with #, is a comment, take it away (sed 1d)"
          : "");
}

Result<const ColumnSurvey*> FindLabel(const TextSurvey& survey, const std::string& name) {
  if (!name.empty()) {
    const auto found = std::ranges::find(survey.columns, name, &ColumnSurvey::name);
    if (found != survey.columns.end()) return &*found;
    std::vector<std::string> names;
    for (const ColumnSurvey& column : survey.columns) names.push_back(column.name);
    return UsageError("--label_column={}: \"{}\" has no such column {}", name, survey.first_file,
                      DescribeKnownNames(name, names));
  }
  if (const ColumnSurvey* const named = ColumnNamedAsLabel(survey, CanBeLabel)) return named;
  if (const ColumnSurvey* const constant = ColumnNamedAsLabel(survey, IsConstant)) return constant;
  return LabelByValues(survey);
}

void RuleOfTwoTexts(const ColumnSurvey& column, LabelGuess* guess) {
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

void RuleOfNumbers(const ColumnSurvey& column, LabelGuess* guess) {
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

Result<LabelGuess> GuessLabel(const TextSurvey& survey, const std::string& name) {
  ASSIGN_OR_RETURN(const ColumnSurvey* const found, FindLabel(survey, name));
  const ColumnSurvey& column = *found;
  if (IsConstant(column)) return SameInAllLines(survey, column);
  LabelGuess guess{.column = static_cast<size_t>(found - survey.columns.data()),
                   .rule = {.column = column.name}};
  if (column.are_numbers() && (!HasTwoTexts(column) || (column.min >= 0 && column.max <= 1))) {
    RuleOfNumbers(column, &guess);
  } else if (HasTwoTexts(column)) {
    RuleOfTwoTexts(column, &guess);
  } else {
    return UsageError(
        "\"{}\": the label \"{}\" is neither a number nor one of two values: {} different in {} "
        "lines, such as \"{}\"; name another column: --label_column=NAME",
        survey.first_file, column.name, WrittenCount(column.tokens.distinct()),
        WrittenCount(survey.size.surveyed),
        column.texts.empty() ? "" : column.texts.begin()->first);
  }
  if (column.missing > 0) {
    guess.why += fmt::format("; missing in {} of {} lines: --max_bad_lines leaves them out",
                             WrittenCount(column.missing), WrittenCount(survey.size.surveyed));
  }
  return guess;
}

}  // namespace rowhouse
