// Figures as text, the same in any locale. Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rowhouse {

// "12,345,678": rounded, in groups of three digits; "-" for a NaN or infinity.
std::string CountText(double value);

// "512 B", "1.50 MiB": powers of 1024, about three digits; "-" for a NaN or infinity.
std::string BytesText(double bytes);
inline std::string BytesText(uint64_t bytes) { return BytesText(static_cast<double>(bytes)); }

// "12.3 %" of a share of 0.123.
std::string PercentText(double share);

// "a, b and c"; of more than `most` + 1 names the first `most`: "a, b and 7 others".
std::string NamesText(std::span<const std::string> names, size_t most);

// "0:13", "12:01", "3:00:00"; negative ones as 0.
std::string DurationText(double seconds);

// "[========>           ]" of a part from 0 to 1.
std::string BarText(double part);

// A field of CSV (RFC 4180): in quotes if needed, and with an apostrophe ahead if a spreadsheet
// would take it for a formula ("=", "+", "-", "@" or white space at its beginning).
std::string CsvText(const std::string& given);

}  // namespace rowhouse
