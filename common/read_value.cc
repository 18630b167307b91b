#include "common/read_value.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace rowhouse {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// `text` without the _ between its digits; nothing if one stands anywhere else.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string out;
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const auto is_digit = [is_hex](char c) { return is_hex ? std::isxdigit(c) != 0 : IsDigit(c); };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool is_between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!is_between) return std::nullopt;
  }
  return out;
}

template <typename T>
std::optional<T> FromChars(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = [&] {
    if constexpr (std::is_integral_v<T>) return std::from_chars(text.data(), end, value, base);
    return std::from_chars(text.data(), end, value);
  }();
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// "2.5e6": digits, perhaps a point and digits, then e and an exponent that makes it whole.
std::optional<uint64_t> ReadWithExponent(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  std::string digits(text.substr(0, e));
  std::string_view exponent = text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  auto shift = FromChars<int32_t>(exponent);
  if (!shift || digits.empty() || !IsDigit(digits.front()) || !IsDigit(digits.back())) {
    return std::nullopt;
  }
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    *shift -= static_cast<int32_t>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  for (; *shift < 0 && digits.ends_with('0'); ++*shift) digits.pop_back();
  auto value = FromChars<uint64_t>(digits);
  if (!value || *shift < 0) return std::nullopt;
  for (; *shift > 0 && *value != 0; --*shift) {
    if (__builtin_mul_overflow(*value, uint64_t{10}, &*value)) return std::nullopt;
  }
  return value;
}

// What a letter behind a size multiplies it by; 0: no such letter.
uint64_t BytesOfSuffix(std::string_view suffix) {
  if (suffix.empty()) return 0;
  const std::string_view rest = suffix.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB" && rest != "b" && rest != "ib") return 0;
  switch (std::toupper(static_cast<unsigned char>(suffix[0]))) {
    case 'K':
      return uint64_t{1} << 10;
    case 'M':
      return uint64_t{1} << 20;
    case 'G':
      return uint64_t{1} << 30;
    case 'T':
      return uint64_t{1} << 40;
  }
  return 0;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    items.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return items;
    begin = end + 1;
  }
}

}  // namespace

std::optional<uint64_t> ReadWhole(std::string_view text) {
  const std::optional<std::string> plain = WithoutUnderscores(text);
  if (!plain || plain->empty()) return std::nullopt;
  if (plain->starts_with("0x") || plain->starts_with("0X")) {
    return FromChars<uint64_t>(std::string_view(*plain).substr(2), 16);
  }
  if (plain->find_first_of("eE") != std::string::npos) return ReadWithExponent(*plain);
  return FromChars<uint64_t>(*plain);
}

std::optional<int64_t> ReadInteger(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const auto magnitude = ReadWhole(is_negative ? text.substr(1) : text);
  const uint64_t most = uint64_t{INT64_MAX} + (is_negative ? 1 : 0);
  if (!magnitude || *magnitude > most) return std::nullopt;
  return static_cast<int64_t>(is_negative ? -*magnitude : *magnitude);
}

std::optional<double> ReadReal(std::string_view text) {
  const std::optional<std::string> plain = WithoutUnderscores(text);
  if (!plain) return std::nullopt;
  const std::optional<double> value = FromChars<double>(*plain);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<uint64_t> ReadSize(std::string_view text, uint64_t unit) {
  if (const auto whole = ReadWhole(text)) return whole;
  const size_t last_digit = text.find_last_of("0123456789");
  if (last_digit == std::string_view::npos) return std::nullopt;
  std::string_view suffix = text.substr(last_digit + 1);
  if (suffix.starts_with(' ')) suffix.remove_prefix(1);
  const uint64_t factor = BytesOfSuffix(suffix);
  const auto number = ReadReal(text.substr(0, last_digit + 1));
  if (factor == 0 || !number || *number < 0.0) return std::nullopt;
  const double units = *number * (static_cast<double>(factor) / static_cast<double>(unit));
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (units > kLargestExact || units != std::floor(units)) return std::nullopt;
  return static_cast<uint64_t>(units);
}

std::optional<bool> ReadBool(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"true", "t", "yes", "y", "1", "on"}) {
    if (lower == word) return true;
  }
  for (const char* word : {"false", "f", "no", "n", "0", "off"}) {
    if (lower == word) return false;
  }
  return std::nullopt;
}

bool IsFiniteAsFloat(double value) { return std::isfinite(static_cast<float>(value)); }

std::vector<std::string> SplitList(std::string_view text) {
  return Split(text, text.find(',') == std::string_view::npos ? '-' : ',');
}

std::vector<std::string> SplitAtCommas(std::string_view text) { return Split(text, ','); }

}  // namespace rowhouse
