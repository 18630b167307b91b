// The 64-bit key of a token: what formats put into raw samples, and what dictionaries are of.
//
// Threads: pure functions.
#pragma once

#include <xxhash.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rowhouse {

enum class TokenType : uint8_t { kString, kInteger, kHex };

// Of CategoricalColumn::token (worker/data/schema.h); nothing for another word.
inline std::optional<TokenType> TokenTypeOf(std::string_view word) {
  if (word == "string") return TokenType::kString;
  if (word == "integer") return TokenType::kInteger;
  if (word == "hex") return TokenType::kHex;
  return std::nullopt;
}

// The key of `text`, by its type; nothing for a text that is no token of the type.
//   string   XXH3-64 of the bytes
//   integer  a decimal number in [-2^63, 2^64), as its two's complement
//   hex      1 to 16 hexadecimal digits
inline std::optional<uint64_t> TokenKey(TokenType type, std::string_view text) {
  if (type == TokenType::kString) return XXH3_64bits(text.data(), text.size());
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  uint64_t key = 0;
  if (type == TokenType::kInteger && !text.empty() && text[0] == '-') {
    int64_t negative = 0;
    const auto [stop, error] = std::from_chars(begin, end, negative);
    if (error != std::errc() || stop != end) return std::nullopt;
    return static_cast<uint64_t>(negative);
  }
  const auto [stop, error] = std::from_chars(begin, end, key, type == TokenType::kHex ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return key;
}

// What a token of the type must be, as the rest of "expected ...".
inline std::string_view ExpectedToken(TokenType type) {
  if (type == TokenType::kInteger) return "an integer of 64 bits";
  return type == TokenType::kHex ? "up to 16 hexadecimal digits" : "a text";
}

}  // namespace rowhouse
