#include "common/clean_text.h"

#include <cstdint>

namespace rowhouse {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: what stands here is no UTF-8
};

// The first character of `text`, which is not empty. RFC 3629: no overlong form, no surrogate.
Character FirstOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kMin[bytes] || code > 0x10FFFF || is_surrogate) return {};
  return {code, bytes};
}

// Terminals obey those of the second range as they obey escape.
bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0xFFFE || code == 0xFFFF;
}

// Calls visit(character, its bytes) for each; stops where it answers false.
template <typename Visit>
void ForEach(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const Character character = FirstOf(text);
    const size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    if (!visit(character, text.substr(0, bytes))) return;
    text.remove_prefix(bytes);
  }
}

// `layout`: control characters that stay. Other white space becomes a blank.
std::string Clean(std::string_view text, std::string_view layout) {
  std::string clean;
  ForEach(text, [&](Character character, std::string_view bytes) {
    if (layout.find(bytes) != layout.npos) {
      clean += bytes;
    } else if (bytes == "\t" || bytes == "\n" || bytes == "\r") {
      clean += ' ';
    } else {
      clean += character.bytes == 0 || IsControl(character.code) ? kReplacement : bytes;
    }
    return true;
  });
  return clean;
}

}  // namespace

std::string CleanText(std::string_view text) { return Clean(text, ""); }
std::string CleanLines(std::string_view text) { return Clean(text, "\t\n"); }

size_t Utf8Bytes(std::string_view text) { return FirstOf(text).bytes; }

size_t CountCharacters(std::string_view clean) {
  size_t count = 0;
  ForEach(clean, [&](Character, std::string_view) { return ++count > 0; });
  return count;
}

}  // namespace rowhouse
