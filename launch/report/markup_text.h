// Text from anywhere (labels, names of directories) made fit for terminals, HTML and SVG.
//
// Widths are estimates, a little above what sans-serif fonts take, because nothing here can see the
// font of the reader: 0.62 of the font's size a letter, less
// for narrow ones, nearly or wholly the size for wide ones.
// Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace rowhouse {

// Valid UTF-8 on one line: blanks for tabs and ends of lines, U+FFFD for other control characters
// and for every byte that is no UTF-8. What follows takes text that is clean.
std::string CleanText(std::string_view text);

size_t CountCharacters(std::string_view clean);
double TextWidth(std::string_view clean, double font_px);  // in px

// As it is where it fits, or else its beginning and "…".
std::string ShortenText(const std::string& clean, double width_px, double font_px);

// Cleaned, and safe between tags and between quotes of either kind, in HTML and XML.
std::string EscapeMarkup(std::string_view text);

}  // namespace rowhouse
