// Numbers in sentences: "1 shard", "2 shards".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rowhouse {

// `one` and `many`: the word for one, and for others; "": the same with an s.
inline std::string Counted(uint64_t number, std::string_view one, std::string_view many = "") {
  if (number == 1 || !many.empty()) return fmt::format("{} {}", number, number == 1 ? one : many);
  return fmt::format("{} {}s", number, one);
}

}  // namespace rowhouse
