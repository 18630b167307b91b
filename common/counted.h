// Counted: a number and its noun: "1 shard", "2 shards".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rowhouse {

// `many` is the plural of `one`; "": `one` with an s.
inline std::string Counted(uint64_t number, std::string_view one, std::string_view many = "") {
  if (number == 1 || !many.empty()) return fmt::format("{} {}", number, number == 1 ? one : many);
  return fmt::format("{} {}s", number, one);
}

}  // namespace rowhouse
