// CkptFigures: what a ckpt action has found, as text for people and as JSON for --json, delivered
// when all of it is found. Threads: plain data.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ps/store/row_store.h"

namespace rowhouse {

struct CkptFigures {
  std::string text = {};
  nlohmann::ordered_json json = nlohmann::ordered_json::object();

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  }
};

// "1.5 MB": powers of 10.
inline std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Over all levels of a shard's store.
inline uint64_t BytesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t bytes = 0;
  for (const RowStoreLevel& level : levels) bytes += level.bytes;
  return bytes;
}
inline uint64_t FilesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t files = 0;
  for (const RowStoreLevel& level : levels) files += level.files;
  return files;
}

}  // namespace rowhouse
