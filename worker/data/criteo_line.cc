#include "worker/data/criteo_line.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace rowhouse {
namespace {

// "integer 3 (I3)" or "token 4 (C4)": columns as Criteo's description names them.
std::string FieldName(size_t field) {
  if (field == 0) return "the label";
  if (field <= CriteoLine::kIntegers)
    return fmt::format("field {} (integer I{})", field + 1, field);
  return fmt::format("field {} (token C{})", field + 1, field - CriteoLine::kIntegers);
}

// The field as an error shows it: short, and without bytes that would upset a terminal.
std::string Shown(std::string_view text) {
  std::string shown(text.substr(0, 24));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > 24 ? shown + "..." : shown;
}

// All of `text` as a number; an empty text leaves *value as it is.
template <typename Number>
bool ParseAll(std::string_view text, int radix, Number* value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value, radix);
  return text.empty() || (error == std::errc() && stop == end);
}

Status FieldError(std::string_view line, std::string_view field, size_t number,
                  std::string_view expected) {
  return UsageError("{}: {} is \"{}\", expected {}; mend or remove the line",
                    field.data() - line.data() + 1, FieldName(number), Shown(field), expected);
}

Status FieldCountError(std::string_view line, size_t column, bool has_label) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  return UsageError(
      "{}: the line has {} fields, expected {} separated by tabs ({}{} integers, "
      "{} hexadecimal tokens, of which any but the label may be empty); mend or "
      "remove the line",
      column, tabs + 1, CriteoLine::kFields - !has_label, has_label ? "label, " : "",
      CriteoLine::kIntegers, CriteoLine::kTokens);
}

// The value of a hexadecimal digit; 255: it is none.
constexpr std::array<uint8_t, 256> kHexValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(255);
  for (uint8_t i = 0; i < 10; ++i) values[static_cast<size_t>('0' + i)] = i;
  for (uint8_t i = 0; i < 6; ++i) {
    values[static_cast<size_t>('a' + i)] = static_cast<uint8_t>(10 + i);
    values[static_cast<size_t>('A' + i)] = static_cast<uint8_t>(10 + i);
  }
  return values;
}();

}  // namespace

Status ParseCriteoLine(std::string_view line, CriteoLine* out, bool has_label) {
  *out = CriteoLine();
  const char* begin = line.data();
  const char* const line_end = begin + line.size();
  for (size_t number = has_label ? 0 : 1; number < CriteoLine::kFields; ++number) {
    const bool is_last = number + 1 == CriteoLine::kFields;
    const char* const end = std::find(begin, line_end, '\t');
    const std::string_view field(begin, static_cast<size_t>(end - begin));
    if ((end == line_end) != is_last) {
      return FieldCountError(line, static_cast<size_t>(end - line.data()) + 1, has_label);
    }
    if (number == 0) {
      if (field != "0" && field != "1") return FieldError(line, field, number, "0 or 1");
      out->label = field == "1";
    } else if (number <= CriteoLine::kIntegers) {
      if (!ParseAll(field, 10, &out->integers[number - 1])) {
        return FieldError(line, field, number, "nothing or an integer of 32 bits");
      }
    } else if (field.size() > 8 ||
               !ParseAll(field, 16, &out->tokens[number - 1 - CriteoLine::kIntegers])) {
      return FieldError(line, field, number, "nothing or up to 8 hexadecimal digits");
    }
    if (!is_last) begin = end + 1;
  }
  return OkStatus();
}

const char* ReadCriteoLine(const char* begin, const char* end, bool has_label, CriteoLine* out,
                           uint32_t* is_missing) {
  // No field of a line that is read here is longer than 10 bytes and its separator.
  constexpr ptrdiff_t kLongestLine = 2 + 11 * static_cast<ptrdiff_t>(CriteoLine::kFields);
  const char* at = begin;
  if (end - at < kLongestLine) return nullptr;
  out->label = 0;
  if (has_label) {
    out->label = static_cast<uint8_t>(*at - '0');
    if (out->label > 1 || at[1] != '\t') return nullptr;
    at += 2;
  }
  uint32_t missing = 0;
  for (size_t i = 0; i < CriteoLine::kIntegers; ++i) {
    const bool is_negative = *at == '-';
    const char* const digits = at + is_negative;
    at = digits;
    int32_t value = 0;
    for (; static_cast<unsigned char>(*at - '0') < 10 && at - digits < 9; ++at) {
      value = value * 10 + (*at - '0');
    }
    if (*at != '\t' || (is_negative && at == digits)) return nullptr;
    missing |= static_cast<uint32_t>(at == digits) << i;
    ++at;
    out->integers[i] = is_negative ? -value : value;
  }
  for (size_t i = 0; i < CriteoLine::kTokens; ++i) {
    uint32_t value = 0;
    const char* const digits = at;
    for (; at - digits < 8; ++at) {
      const uint8_t digit = kHexValues[static_cast<unsigned char>(*at)];
      if (digit > 15) break;
      value = value << 4 | digit;
    }
    out->tokens[i] = value;
    if (i + 1 < CriteoLine::kTokens && *at++ != '\t') return nullptr;
  }
  if (*at == '\r') ++at;
  if (*at != '\n') return nullptr;
  *is_missing = missing;
  return at + 1;
}

}  // namespace rowhouse
