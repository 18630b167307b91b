// Numbers in sentences: "1 shard", "2 shards".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rowhouse {

// `what` is the word for one, whose plural has an s.
inline std::string Counted(uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace rowhouse
