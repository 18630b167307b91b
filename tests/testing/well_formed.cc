#include "tests/testing/well_formed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <vector>

namespace rowhouse {
namespace {

constexpr std::array<const char*, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

// Every & of `text` begins an entity we write, and none of < > stands there.
bool IsEscaped(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '>') return false;
    if (text[at] != '&') continue;
    const std::string_view rest = text.substr(at);
    const bool is_entity = std::any_of(kEntities.begin(), kEntities.end(), [&](const char* entity) {
      return rest.starts_with(entity);
    });
    if (!is_entity) return false;
  }
  return true;
}

}  // namespace

std::string MarkupFault(std::string_view text) {
  static const std::regex kTag(
      "(/?)([a-zA-Z][a-zA-Z0-9]*)((\\s+[a-zA-Z0-9:-]+=\"[^\"<>]*\")*)\\s*(/?)");
  std::vector<std::string> open;
  size_t at = 0;
  const auto fault = [&](const std::string& what) {
    return fmt::format("{} at byte {}: {}", what, at, text.substr(at, 60));
  };
  if (text.starts_with("<!DOCTYPE html>")) at = text.find('>') + 1;
  while (at < text.size()) {
    const size_t tag_begin = std::min(text.find('<', at), text.size());
    const std::string_view words = text.substr(at, tag_begin - at);
    const bool is_style = !open.empty() && open.back() == "style";
    if (!is_style && !IsEscaped(words)) return fault("not escaped");
    at = tag_begin;
    if (at == text.size()) break;
    const size_t tag_end = text.find('>', at);
    if (tag_end == std::string_view::npos) return fault("a tag without end");
    const std::string tag(text.substr(at + 1, tag_end - at - 1));
    std::smatch match;
    if (!std::regex_match(tag, match, kTag)) return fault("no tag");
    if (!IsEscaped(match[3].str())) return fault("an attribute that is not escaped");
    if (match[1].length() > 0) {
      if (open.empty() || open.back() != match[2].str()) return fault("closes what is not open");
      open.pop_back();
    } else if (match[5].length() == 0) {
      open.push_back(match[2].str());
    }
    at = tag_end + 1;
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

}  // namespace rowhouse
