#include "worker/data/mapping/label_guess.h"

#include <algorithm>

#include "common/nearest_name.h"
#include "worker/data/mapping/inferred_column.h"
#include "worker/data/mapping/name_words.h"

namespace rowhouse {
namespace {

bool HasTwoTexts(const ColumnLook& column) { return column.tokens().distinct() == 2; }

bool CanBeLabel(const ColumnLook& column) {
  return HasTwoTexts(column) || (column.are_numbers() && column.tokens().distinct() > 1);
}

std::vector<std::string> NamesOf(const TextLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.columns) names.push_back(column.name());
  return names;
}

std::string NamesText(const TextLook& look) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(look.columns.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + look.columns[i].name();
  }
  return look.columns.size() > kMost ? text + ", ..." : text;
}

bool IsConstant(const ColumnLook& column) {
  return column.values() > 0 && column.tokens().distinct() == 1;
}

Status SameInAllLines(const TextLook& look, const ColumnLook& column) {
  return UsageError(
      "\"{}\": the label \"{}\" is {} in all {} lines, so there is nothing to learn: give a file "
      "that has other samples, too, or name another column: --label_column=NAME, one of {}",
      look.first_file, column.name(), column.texts().begin()->first,
      WrittenCount(static_cast<double>(column.values())), NamesText(look));
}

// A column whose name is that of a label, or has it among its words.
template <typename Fits>
int ColumnNamedAsLabel(const TextLook& look, const Fits& can_be) {
  for (const bool is_whole_name : {true, false}) {
    for (const std::string& name : LabelNames()) {
      for (size_t i = 0; i < look.columns.size(); ++i) {
        const ColumnLook& column = look.columns[i];
        const bool fits = is_whole_name ? LowerCase(column.name()) == name
                                        : std::ranges::count(WordsOf(column.name()), name) > 0;
        if (fits && can_be(column)) return static_cast<int>(i);
      }
    }
  }
  return -1;
}

// The only column of zeros and ones, or of two values; of several, the first or last of the file.
Result<size_t> LabelByValues(const TextLook& look) {
  std::vector<size_t> found;
  for (const bool is_of_digits : {true, false}) {
    if (!found.empty()) break;
    for (size_t i = 0; i < look.columns.size(); ++i) {
      const ColumnLook& column = look.columns[i];
      const bool are_digits = column.texts().contains("0") && column.texts().contains("1");
      const bool fits = are_digits || !is_of_digits;
      if (HasTwoTexts(column) && column.missing() == 0 && fits) found.push_back(i);
    }
  }
  if (found.size() == 1) return found.front();
  if (!found.empty() && found.front() == 0) return found.front();
  if (!found.empty() && found.back() + 1 == look.columns.size()) return found.back();
  return UsageError(
      "\"{}\": {}; name the label's column: --label_column=NAME, one of {}{}", look.first_file,
      found.empty() ? "no column looks like a label" : "several columns have two values",
      NamesText(look),
      look.columns.front().name().starts_with('#')
          ? "; or, if line 1, which begins with #, is a comment, take it away (sed 1d)"
          : "");
}

Result<size_t> FindLabel(const TextLook& look, const std::string& name) {
  const std::vector<std::string> names = NamesOf(look);
  if (!name.empty()) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    return UsageError("--label_column={}: \"{}\" has no such column {}", name, look.first_file,
                      DescribeKnownNames(name, names));
  }
  const int by_name = ColumnNamedAsLabel(look, CanBeLabel);
  if (by_name >= 0) return static_cast<size_t>(by_name);
  const int constant = ColumnNamedAsLabel(look, IsConstant);
  if (constant >= 0) return SameInAllLines(look, look.columns[static_cast<size_t>(constant)]);
  return LabelByValues(look);
}

double Percent(uint64_t part, uint64_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

void RuleOfTwoTexts(const ColumnLook& column, LabelGuess* guess) {
  const auto& [a, a_count] = *column.texts().begin();
  const auto& [b, b_count] = *column.texts().rbegin();
  const bool is_known = MeansYes(a) != MeansYes(b);
  const bool is_a = is_known ? MeansYes(a) : a_count < b_count;
  guess->rule.compare = "==";
  guess->rule.value = is_a ? a : b;
  guess->why = fmt::format("\"{}\" is 1 ({:.3g} %){}, \"{}\" 0", is_a ? a : b,
                           Percent(is_a ? a_count : b_count, a_count + b_count),
                           is_known ? "" : ", because it is rarer", is_a ? b : a);
}

void RuleOfNumbers(const ColumnLook& column, LabelGuess* guess) {
  if (column.min() >= 0 && column.max() <= 1) {
    guess->why = fmt::format("from 0 to 1, as it is; the mean is {:.3g}", column.mean());
    return;
  }
  const bool is_of_five = column.are_integers() && column.min() >= 0 && column.max() == 5;
  const double median = column.Quantile(0.5);
  const double limit = is_of_five ? 4
                       : median > column.min()
                           ? median
                           : std::max(column.Quantile(0.75), 0.5 * (column.min() + column.max()));
  guess->rule.compare = ">=";
  guess->rule.value = fmt::format("{}", limit);
  guess->why = fmt::format("numbers from {:.6g} to {:.6g}; {} is 1", column.min(), column.max(),
                           is_of_five ? "four stars or five" : "the upper half");
}

}  // namespace

Result<LabelGuess> GuessLabel(const TextLook& look, const std::string& name) {
  LabelGuess guess;
  ASSIGN_OR_RETURN(guess.column, FindLabel(look, name));
  const ColumnLook& column = look.columns[guess.column];
  guess.rule.column = column.name();
  if (IsConstant(column)) return SameInAllLines(look, column);
  const double distinct = static_cast<double>(column.tokens().distinct());
  if (column.are_numbers() && (!HasTwoTexts(column) || (column.min() >= 0 && column.max() <= 1))) {
    RuleOfNumbers(column, &guess);
  } else if (HasTwoTexts(column)) {
    RuleOfTwoTexts(column, &guess);
  } else {
    return UsageError(
        "\"{}\": the label \"{}\" is neither a number nor one of two values: {} different in {} "
        "lines, such as \"{}\"; name another column: --label_column=NAME",
        look.first_file, column.name(), WrittenCount(distinct),
        WrittenCount(static_cast<double>(look.size.looked_at)),
        column.texts().empty() ? "" : column.texts().begin()->first);
  }
  if (column.missing() > 0) {
    guess.why += fmt::format("; missing in {} of {} lines: --max_bad_lines leaves them out",
                             WrittenCount(static_cast<double>(column.missing())),
                             WrittenCount(static_cast<double>(look.size.looked_at)));
  }
  return guess;
}

}  // namespace rowhouse
