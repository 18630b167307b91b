// Text from users (labels, names of directories), made safe to print. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace rowhouse {

// `text` as one line of valid UTF-8: tabs and ends of lines become blanks; other control characters
// and bytes that are no UTF-8 become U+FFFD.
std::string CleanText(std::string_view text);

// The characters of a text that CleanText returned.
size_t CountCharacters(std::string_view clean);

}  // namespace rowhouse
