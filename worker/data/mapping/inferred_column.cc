#include "worker/data/mapping/inferred_column.h"

#include <fmt/format.h>

#include <algorithm>

namespace rowhouse {
namespace {

constexpr double kMostInDictionary = 1e6;  // tokens; more are hashed
constexpr double kFewTokens = 100;         // a dictionary of fewer keeps tokens that occur once
constexpr double kRoomOfHash = 1.3;        // rows for each token of a hashed column
constexpr double kRoomOfEstimate = 1.2;  // rows for each token of a dictionary, if they are guessed

}  // namespace

std::string WrittenCount(double count) {
  if (count >= 1e9) return fmt::format("{:.1f} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.1f} million", count / 1e6);
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

void ChooseIds(const DistinctTokens& tokens, const DataSize& size, InferredColumn* column) {
  const double seen = static_cast<double>(tokens.distinct());
  const double all = static_cast<double>(tokens.occurrences()) * size.records /
                     static_cast<double>(size.looked_at);
  column->distinct = size.is_whole ? seen : tokens.DistinctAmong(all);
  column->why = fmt::format("{}{} distinct in {} lines", tokens.is_exact() ? "" : "about ",
                            WrittenCount(seen), WrittenCount(static_cast<double>(size.looked_at)));
  if (!size.is_whole) {
    column->why += fmt::format(", about {} in all", WrittenCount(column->distinct));
  }
  CategoricalColumn& made = column->categorical;
  if (column->distinct > kMostInDictionary) {
    made.ids = "hash";
    made.rows = static_cast<uint64_t>(column->distinct * kRoomOfHash) + KeptRows(made);
    return;
  }
  made.ids = "dictionary";
  made.rare_row = true;
  double kept = column->distinct;
  if (column->distinct > kFewTokens && tokens.once() > 0) {
    // So that the row of rare tokens is trained, too.
    made.min_count = 2;
    if (size.is_whole) kept -= static_cast<double>(tokens.once());
    column->why +=
        fmt::format(", {} of them once", WrittenCount(static_cast<double>(tokens.once())));
  }
  // Tokens beyond a guess that was too low share the row of rare ones. A column without any token
  // has room for one: a table has a row beside those that are kept.
  const double room = size.is_whole && tokens.is_exact() ? 1.0 : kRoomOfEstimate;
  made.rows = std::max<uint64_t>(1, static_cast<uint64_t>(kept * room)) + KeptRows(made);
}

}  // namespace rowhouse
