// Text from anywhere (labels, names of directories) made fit for terminals. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace rowhouse {

// Valid UTF-8 on one line: blanks for tabs and ends of lines, U+FFFD for other control characters
// and for every byte that is no UTF-8.
std::string CleanText(std::string_view text);

// Of text that is clean.
size_t CountCharacters(std::string_view clean);

}  // namespace rowhouse
