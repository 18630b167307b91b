#include "common/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace rowhouse {
namespace {

constexpr size_t kShortestPart = 4;  // "of" would be meant by too many names.

// Edits between two names: letters added, left out, changed, or two neighbours exchanged, which is
// what hands do most (Damerau and Levenshtein's distance, without edits of exchanged letters).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Whether `part` stands in `name` as whole words: batch_size in mini_batch_size.
bool HoldsWords(std::string_view name, std::string_view part) {
  for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const size_t end = at + part.size();
    if ((at == 0 || name[at - 1] == '_') && (end == name.size() || name[end] == '_')) return true;
  }
  return false;
}

}  // namespace

std::string NearestName(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  for (const std::string& candidate : known) {
    if (EditDistance(name, candidate) <= 1) return candidate;  // A slip of the hand.
    const bool is_shorter = nearest.empty() || candidate.size() < nearest.size();
    if (name.size() >= kShortestPart && HoldsWords(candidate, name) && is_shorter) {
      nearest = candidate;
    }
  }
  if (!nearest.empty()) return nearest;
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
