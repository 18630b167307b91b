#include "common/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace rowhouse {
namespace {

// Levenshtein distance, two rows at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DescribeKnownNames(std::string_view name, std::span<const std::string> known) {
  std::string text = fmt::format("(known: {})", fmt::join(known, ", "));
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) text += fmt::format(". Did you mean \"{}\"?", nearest);
  return text;
}

}  // namespace rowhouse
