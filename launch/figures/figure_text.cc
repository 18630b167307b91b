#include "launch/figures/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rowhouse {

std::string CountText(double value) {
  if (!std::isfinite(value)) return "-";
  std::string digits = fmt::format("{:.0f}", std::fabs(value));
  const std::string sign = value < 0.0 && digits != "0" ? "-" : "";
  for (size_t left = 3; left < digits.size(); left += 4) {
    digits.insert(digits.size() - left, ",");
  }
  return sign + digits;
}

std::string BytesText(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  // What would print as 1024 is 1 of the next unit.
  while (std::fabs(bytes) >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes == 0.0 ? 0.0 : bytes);
  const int decimals = std::fabs(bytes) < 10.0 ? 2 : std::fabs(bytes) < 100.0 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string PercentText(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string NamesText(std::span<const std::string> names, size_t most) {
  std::string text;
  const size_t named = names.size() <= most + 1 ? names.size() : most;  // not "1 others"
  for (size_t i = 0; i < named; ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (named < names.size()) text += fmt::format(" and {} others", names.size() - named);
  return text;
}

std::string DurationText(double seconds) {
  const auto all = static_cast<uint64_t>(std::max(0.0, seconds) + 0.5);
  if (all < 3600) return fmt::format("{}:{:02}", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

std::string BarText(double part) {
  constexpr size_t kLetters = 20;
  const auto full = static_cast<size_t>(part * static_cast<double>(kLetters));
  std::string bar(kLetters, ' ');
  std::fill_n(bar.begin(), std::min(full, kLetters), '=');
  if (full < kLetters) bar[full] = '>';
  return "[" + bar + "]";
}

std::string CsvText(const std::string& given) {
  // A spreadsheet takes a cell that begins so for a formula, which can run programs.
  const bool is_formula =
      !given.empty() && std::string_view("=+-@\t\r").find(given[0]) != std::string_view::npos;
  const std::string text = is_formula ? "'" + given : given;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + "\"";
}

}  // namespace rowhouse
