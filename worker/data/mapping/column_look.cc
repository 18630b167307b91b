#include "worker/data/mapping/column_look.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "worker/data/mapping/name_words.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/text/field_text.h"

namespace rowhouse {
namespace {

constexpr size_t kMostTexts = 33;
constexpr size_t kMostSampled = 8192;

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

// The form of a text: digits as 9, other characters as they are.
bool HasForm(std::string_view text, std::string_view form) {
  return text.size() >= form.size() &&
         std::equal(form.begin(), form.end(), text.begin(),
                    [](char f, char c) { return f == '9' ? IsDigit(c) : f == c; });
}

// 2024-01-31, 2024/01/31, 31.01.2024 and the like, a time behind it or not.
bool IsDate(std::string_view text) {
  for (const std::string_view form : {"9999-99-99", "9999/99/99", "99/99/9999", "99.99.9999",
                                      "9/99/9999", "99/9/9999", "9/9/9999", "99-99-9999"}) {
    if (!HasForm(text, form)) continue;
    const std::string_view rest = text.substr(form.size());
    return rest.empty() || ((rest[0] == ' ' || rest[0] == 'T') && rest.size() <= 25);
  }
  return false;
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

void ColumnLook::Add(std::string_view field, uint64_t line) {
  if (IsMissingNumber(field)) {
    ++missing_;
    return;
  }
  ++values_;
  bytes_ += field.size();
  longest_ = std::max<uint64_t>(longest_, field.size());
  tokens_.Add(field);
  if (const auto found = texts_.find(std::string(field)); found != texts_.end()) {
    ++found->second;
  } else if (texts_.size() < kMostTexts) {
    texts_.emplace(field, 1);
  }
  const std::string_view trimmed = Trimmed(field);
  not_utf8_ += !IsUtf8(field);
  if (const auto number = DoubleOf(trimmed); number && !IsInfinity(trimmed)) {
    ++numbers_like_;
    AddNumber(trimmed, *number);
  } else {
    if (strays() == 1) {
      first_stray_ = ShownField(trimmed);
      first_stray_line_ = line;
    }
    infinities_ += IsInfinity(trimmed);
    if (IsDecimalComma(trimmed)) {
      ++decimal_commas_;
      ++numbers_like_;
    }
    dates_ += IsDate(trimmed);
  }
  AddPieces(trimmed);  // also of a number: it may be a list of one
}

bool ColumnLook::are_numbers() const {
  if (numbers_ == 0) return false;
  const bool has_fractions = integers_ < numbers_;
  return strays() == infinities_ || (has_fractions && strays() * 100 <= values_);
}

void ColumnLook::AddNumber(std::string_view field, double value) {
  if (numbers_ == 0) min_ = max_ = value;
  if (numbers_ > 0 && value <= last_) is_ascending_ = false;
  last_ = value;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += value;
  if (IsInteger(field)) {
    ++integers_;
    const bool is_odd = field[0] == '+' || (field.size() > 1 && field[0] == '0') ||
                        field.starts_with("-0") || !TokenKey(TokenType::kInteger, field);
    has_odd_integers_ = has_odd_integers_ || is_odd;
  }
  if (numbers_++ % stride_ != 0) return;
  sample_.push_back(value);
  if (sample_.size() < 2 * kMostSampled) return;
  for (size_t i = 0; i < kMostSampled; ++i) sample_[i] = sample_[2 * i];
  sample_.resize(kMostSampled);
  stride_ *= 2;
}

void ColumnLook::AddPieces(std::string_view field) {
  for (size_t i = 0; i < kInnerSeparators.size(); ++i) {
    Pieces& pieces = pieces_[i];
    const char separator = kInnerSeparators[i];
    bool has_separator = false;
    size_t begin = 0;
    for (;;) {
      const size_t end = field.find(separator, begin);
      const bool is_last = end == std::string_view::npos;
      has_separator = has_separator || !is_last;
      // Fields that lack it count once the separator has been seen.
      if (is_last && !has_separator && pieces.fields == 0) break;
      const std::string_view piece = field.substr(begin, is_last ? end : end - begin);
      if (!Trimmed(piece).empty()) {
        std::string_view token;
        ++pieces.pieces;
        pieces.weighted += IsWeighted(piece, &token);
        pieces.tokens.Add(token);
      }
      if (is_last) break;
      begin = end + 1;
    }
    pieces.fields += has_separator;
  }
}

double ColumnLook::mean_length() const {
  return values_ == 0 ? 0 : static_cast<double>(bytes_) / static_cast<double>(values_);
}

double ColumnLook::mean() const { return numbers_ == 0 ? 0 : sum_ / static_cast<double>(numbers_); }

double ColumnLook::Quantile(double share) const {
  if (sample_.empty()) return 0;
  std::vector<double> sorted = sample_;
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, sorted.begin() + at);
  return sorted[static_cast<size_t>(at)];
}

}  // namespace rowhouse
