#include "worker/data/criteo_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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

Status FieldCountError(std::string_view line, size_t column) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  return UsageError(
      "{}: the line has {} fields, expected {} separated by tabs (label, {} integers, "
      "{} hexadecimal tokens, of which any but the label may be empty); mend or "
      "remove the line",
      column, tabs + 1, CriteoLine::kFields, CriteoLine::kIntegers, CriteoLine::kTokens);
}

}  // namespace

Status ParseCriteoLine(std::string_view line, CriteoLine* out) {
  *out = CriteoLine();
  const char* begin = line.data();
  const char* const line_end = begin + line.size();
  for (size_t number = 0; number < CriteoLine::kFields; ++number) {
    const bool is_last = number + 1 == CriteoLine::kFields;
    const char* const end = std::find(begin, line_end, '\t');
    const std::string_view field(begin, static_cast<size_t>(end - begin));
    if ((end == line_end) != is_last) {
      return FieldCountError(line, static_cast<size_t>(end - line.data()) + 1);
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

float CriteoDense(int32_t integer) {
  return std::log(static_cast<float>(std::max(integer, 0)) + 1.0f);
}

}  // namespace rowhouse
