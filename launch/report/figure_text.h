// Figures as people read them; the same text everywhere, whatever the locale. Threads: any.
#pragma once

#include <optional>
#include <string>

namespace rowhouse {

// "12,345,678": rounded, thousands apart; "-" for what is no finite number.
std::string CountText(double value);

// "512 B", "1.50 MiB": powers of 1024, three digits or so; "-" for what is no finite number.
std::string BytesText(double bytes);

// A field of CSV (RFC 4180): every bit of a figure, "" for none; text in quotes where it needs
// them.
std::string CsvFigure(const std::optional<double>& figure);
std::string CsvText(const std::string& text);

}  // namespace rowhouse
