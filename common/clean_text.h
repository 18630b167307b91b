// Text from users (labels, names of directories), made safe to print. Threads: pure functions.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace rowhouse {

// `text` as one line of valid UTF-8: tabs and ends of lines become blanks; other control characters
// and bytes that are no UTF-8 become U+FFFD.
std::string CleanText(std::string_view text);

// The same of several lines: ends of lines and tabs stay.
std::string CleanLines(std::string_view text);

// fmt::print of CleanLines: for lines that hold words of users (paths, names, what is in files).
template <typename... Args>
void PrintClean(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(to, "{}", CleanLines(fmt::format(format, std::forward<Args>(args)...)));
}
template <typename... Args>
void PrintClean(fmt::format_string<Args...> format, Args&&... args) {
  PrintClean(stdout, format, std::forward<Args>(args)...);
}

// Bytes of the first character of `text`, which is not empty; 0 if what stands there is no UTF-8.
size_t Utf8Bytes(std::string_view text);

// The characters of a text that CleanText returned.
size_t CountCharacters(std::string_view clean);

}  // namespace rowhouse
