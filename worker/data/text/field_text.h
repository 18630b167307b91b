// The text of one field as a number, and as an error shows it.
//
// Threads: functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rowhouse {

// Whether a field that should be a number says that there is none: nothing or blanks, NA, N/A, NaN,
// null, None (in any case), \N, ?.
bool IsMissingNumber(std::string_view field);

// Without blanks and tabs at both ends.
std::string_view Trimmed(std::string_view field);

std::string LowerCase(std::string_view text);  // of ASCII's letters

// All of `field`, but for blanks around it, as a finite number; numbers nearer to 0 than any of the
// type are 0. Nothing for another text, an infinity, or a number beyond the type.
std::optional<float> FloatOf(std::string_view field);
std::optional<double> DoubleOf(std::string_view field);

// Whether the bytes are characters of UTF-8, as far as their first bits tell.
bool IsUtf8(std::string_view text);

// The field as an error shows it: short, and without bytes that would upset a terminal.
std::string ShownField(std::string_view field);

}  // namespace rowhouse
