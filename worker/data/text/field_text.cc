#include "worker/data/text/field_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace rowhouse {
namespace {

constexpr std::array<std::string_view, 7> kMissing = {"na",   "n/a", "nan", "null",
                                                      "none", "\\n", "?"};

template <typename Number>
std::optional<Number> NumberOf(std::string_view field) {
  field = Trimmed(field);
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  if (field.empty()) return std::nullopt;
  const char* const end = field.data() + field.size();
  Number value = 0;
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small? A number that is written with a negative exponent, or as 0.000..., is
    // too small.
    const size_t exponent = field.find_first_of("eE");
    const bool is_small = exponent == std::string_view::npos ? field.find('.') <= 2
                                                             : field.substr(exponent + 1, 1) == "-";
    if (is_small) return Number{0};
    return std::nullopt;
  }
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::string_view Trimmed(std::string_view field) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = field.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return field.substr(0, 0);
  return field.substr(begin, field.find_last_not_of(kBlanks) - begin + 1);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsMissingNumber(std::string_view field) {
  if (field.empty()) return true;
  const unsigned char first = static_cast<unsigned char>(field.front());
  if (first >= '0' && first <= '9') return false;  // the usual case
  field = Trimmed(field);
  if (field.empty()) return true;
  if (field.size() > 4) return false;
  std::array<char, 4> lower{};
  std::ranges::transform(field, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::count(kMissing, std::string_view(lower.data(), field.size())) > 0;
}

std::optional<float> FloatOf(std::string_view field) {
  // Whole numbers of up to seven digits are exact floats and common.
  if (field.size() - 1 < 7) {
    uint32_t whole = 0;
    size_t i = 0;
    for (; i < field.size(); ++i) {
      const uint32_t digit = static_cast<unsigned char>(field[i]) - uint32_t{'0'};
      if (digit > 9) break;
      whole = whole * 10 + digit;
    }
    if (i == field.size()) return static_cast<float>(whole);
  }
  return NumberOf<float>(field);
}

std::optional<double> DoubleOf(std::string_view field) { return NumberOf<double>(field); }

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    if (lead < 0xc2 || lead > 0xf4) return false;
    for (int following = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3; following > 0; --following) {
      if (i == text.size() || (static_cast<unsigned char>(text[i++]) >> 6) != 2) return false;
    }
  }
  return true;
}

std::string ShownField(std::string_view field) {
  size_t most = 24;
  // Not in the middle of a character of UTF-8.
  while (most > 20 && most < field.size() && (static_cast<unsigned char>(field[most]) >> 6) == 2) {
    --most;
  }
  std::string shown(field.substr(0, most));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return field.size() > most ? shown + "..." : shown;
}

}  // namespace rowhouse
