#include "launch/settings/setting_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace rowhouse {
namespace {

template <typename T>
std::optional<T> ReadNumber(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    items.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return items;
    begin = end + 1;
  }
}

}  // namespace

std::optional<int64_t> ReadInteger(std::string_view text) { return ReadNumber<int64_t>(text); }

std::optional<uint64_t> ReadWhole(std::string_view text) { return ReadNumber<uint64_t>(text); }

std::optional<double> ReadReal(std::string_view text) {
  const std::optional<double> value = ReadNumber<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

bool IsFiniteAsFloat(double value) { return std::isfinite(static_cast<float>(value)); }

std::optional<bool> ReadBool(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"true", "t", "yes", "y", "1", "on"}) {
    if (lower == word) return true;
  }
  for (const char* word : {"false", "f", "no", "n", "0", "off"}) {
    if (lower == word) return false;
  }
  return std::nullopt;
}

std::vector<std::string> SplitList(std::string_view text) {
  return Split(text, text.find(',') == std::string_view::npos ? '-' : ',');
}

std::vector<std::string> SplitAtCommas(std::string_view text) { return Split(text, ','); }

}  // namespace rowhouse
