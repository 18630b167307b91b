#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "worker/data/infer/inference.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/text/field_text.h"

namespace rowhouse {
namespace {

constexpr size_t kMaxTexts = 33;
constexpr size_t kMaxSampled = 8192;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Of any length: what is too long for a number is a name of something. A table that has lost
// integers writes the others as 3.0.
bool IsInteger(std::string_view field) {
  if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  if (field.ends_with(".0")) field.remove_suffix(2);
  return !field.empty() && std::ranges::all_of(field, IsDigit);
}

// Also 1e39, which no float holds; digits alone may be ids.
bool IsInfinity(std::string_view field) {
  if (DoubleOf(field)) return !IsInteger(field) && !FloatOf(field);
  if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  const std::string lower = LowerCase(field);
  return lower == "inf" || lower == "infinity";
}

// "3,5", "-1.234,5"; "1,234" may be an integer, and counts as one where others settle it.
bool IsDecimalComma(std::string_view field) {
  if (std::ranges::count(field, ',') != 1) return false;
  std::string with_point(field);
  std::erase(with_point, '.');
  with_point[with_point.find(',')] = '.';
  return with_point.front() != '.' && with_point.back() != '.' && DoubleOf(with_point).has_value();
}

// 2024-01-31, 31.01.2024, 1/31/2024 and the like, a time behind it or not.
bool IsDate(std::string_view text) {
  const std::string_view day = text.substr(0, text.find_first_of(" T"));
  std::array<size_t, 3> digits{};
  size_t part = 0;
  for (const char c : day) {
    if (IsDigit(c)) {
      ++digits[part];
    } else if (std::string_view("-/.").find(c) == std::string_view::npos || ++part > 2) {
      return false;
    }
  }
  const size_t year = std::max(digits[0], digits[2]), other = std::min(digits[0], digits[2]);
  const auto is_short = [](size_t count) { return count == 1 || count == 2; };
  return part == 2 && year == 4 && is_short(other) && is_short(digits[1]) &&
         text.size() - day.size() <= 25;
}

// Whether `piece` is "token:number"; the token without the weight in *token.
bool IsWeighted(std::string_view piece, std::string_view* token) {
  const size_t colon = piece.rfind(':');
  *token = piece;
  if (colon == std::string_view::npos || colon == 0) return false;
  if (!FloatOf(piece.substr(colon + 1))) return false;
  *token = piece.substr(0, colon);
  return true;
}

}  // namespace

void DistinctTokens::Add(std::string_view token) {
  AddHash(XXH3_64bits(token.data(), token.size()));
}

void DistinctTokens::AddKey(uint64_t key) { AddHash(XXH3_64bits(&key, sizeof(key))); }

void DistinctTokens::AddHash(uint64_t hash) {
  ++occurrences_;
  if ((hash & ((uint64_t{1} << depth_) - 1)) == 0) {
    ++kept_[hash];
    while (kept_.size() > kMaxKept) {
      ++depth_;
      const uint64_t mask = (uint64_t{1} << depth_) - 1;
      std::erase_if(kept_, [mask](const auto& entry) { return (entry.first & mask) != 0; });
    }
  }
  if (std::has_single_bit(occurrences_)) history_.emplace_back(occurrences_, distinct());
}

uint64_t DistinctTokens::once() const {
  const auto count =
      std::ranges::count_if(kept_, [](const auto& entry) { return entry.second == 1; });
  return static_cast<uint64_t>(count) << depth_;
}

double DistinctTokens::DistinctAmong(double occurrences) const {
  const double now = static_cast<double>(distinct());
  const double seen = static_cast<double>(occurrences_);
  if (occurrences <= seen || history_.size() < 2) return now;
  // The last power of two that is at most half of what was added.
  const auto& [then_seen, then] =
      occurrences_ >= 2 * history_.back().first ? history_.back() : history_[history_.size() - 2];
  if (then == 0 || now <= static_cast<double>(then)) return now;
  const double exponent = std::min(1.0, std::log(now / static_cast<double>(then)) /
                                            std::log(seen / static_cast<double>(then_seen)));
  return now * std::pow(occurrences / seen, exponent);
}

void ColumnSurvey::Add(std::string_view field, uint64_t line) {
  if (IsMissingNumber(field)) {
    ++missing;
    return;
  }
  ++values;
  tokens.Add(field);
  if (const auto found = texts.find(std::string(field)); found != texts.end()) {
    ++found->second;
  } else if (texts.size() < kMaxTexts) {
    texts.emplace(field, 1);
  }
  const std::string_view trimmed = Trimmed(field);
  not_utf8 += !IsUtf8(field);
  if (const auto number = DoubleOf(trimmed); number && !IsInfinity(trimmed)) {
    AddNumber(trimmed, *number);
  } else {
    if (strays() == 1) {
      first_stray = ShownField(trimmed);
      first_stray_line = line;
    }
    infinities += IsInfinity(trimmed);
    decimal_commas += IsDecimalComma(trimmed);
    dates += IsDate(trimmed);
  }
  AddPieces(trimmed);  // also of a number: it may be a list of one
}

bool ColumnSurvey::are_numbers() const {
  if (numbers == 0) return false;
  const bool has_fractions = integers < numbers;
  return strays() == infinities || (has_fractions && strays() * 100 <= values);
}

void ColumnSurvey::AddNumber(std::string_view field, double value) {
  AddNumber(value);
  if (IsInteger(field)) {
    ++integers;
    const bool is_odd = field[0] == '+' || (field.size() > 1 && field[0] == '0') ||
                        field.starts_with("-0") || !TokenKey(TokenType::kInteger, field);
    has_odd_integers = has_odd_integers || is_odd;
  }
}

void ColumnSurvey::AddNumber(double value) {
  if (numbers == 0) min = max = value;
  if (numbers > 0 && value <= last_) is_ascending = false;
  last_ = value;
  min = std::min(min, value);
  max = std::max(max, value);
  sum += value;
  if (numbers++ % stride_ != 0) return;
  sample_.push_back(value);
  if (sample_.size() < 2 * kMaxSampled) return;
  for (size_t i = 0; i < kMaxSampled; ++i) sample_[i] = sample_[2 * i];
  sample_.resize(kMaxSampled);
  stride_ *= 2;
}

void ColumnSurvey::AddPieces(std::string_view field) {
  for (size_t i = 0; i < kInnerSeparators.size(); ++i) {
    Pieces& found = pieces[i];
    const char separator = kInnerSeparators[i];
    bool has_separator = false;
    size_t begin = 0;
    for (;;) {
      const size_t end = field.find(separator, begin);
      const bool is_last = end == std::string_view::npos;
      has_separator = has_separator || !is_last;
      // Fields that lack it count once the separator has been seen.
      if (is_last && !has_separator && found.fields == 0) break;
      const std::string_view piece = field.substr(begin, is_last ? end : end - begin);
      if (!Trimmed(piece).empty()) {
        std::string_view token;
        ++found.pieces;
        found.weighted += IsWeighted(piece, &token);
        found.tokens.Add(token);
      }
      if (is_last) break;
      begin = end + 1;
    }
    found.fields += has_separator;
  }
}

double ColumnSurvey::Skewness(bool after_log1p) const {
  const auto value_of = [after_log1p](double x) {
    return after_log1p ? std::log1p(std::max(x, 0.0)) : x;
  };
  double mean = 0, squares = 0, cubes = 0;
  const auto count = static_cast<double>(sample_.size());
  for (const double x : sample_) mean += value_of(x) / count;
  for (const double x : sample_) {
    const double distance = value_of(x) - mean;
    squares += distance * distance / count;
    cubes += distance * distance * distance / count;
  }
  return squares > 0 ? cubes / std::pow(squares, 1.5) : 0;
}

double ColumnSurvey::Quantile(double share) const {
  if (sample_.empty()) return 0;
  std::vector<double> sorted = sample_;
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, sorted.begin() + at);
  return sorted[static_cast<size_t>(at)];
}

}  // namespace rowhouse
