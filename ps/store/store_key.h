// StoreKey: where a record lies, in memory and on disk. The order of keys is (table, row, first
// column), and the 14 bytes on disk sort the same way:
//
//   bytes 0-3    table        u32 big-endian
//   bytes 4-11   row          u64 big-endian, the global id within the physical table
//   bytes 12-13  first column u16 big-endian
//
// These bytes are part of every row directory and never change. Ids are global, so that resharding
// is a scan and not a rewrite.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>

#include "common/types.h"

namespace rowhouse {

struct StoreKey {
  static constexpr size_t kBytes = 14;
  using Encoded = std::array<char, kBytes>;

  TableId table{};
  RowId row{};
  uint16_t first_column = 0;

  auto operator<=>(const StoreKey&) const = default;

  Encoded Encode() const {
    Encoded bytes;
    StoreBigEndian(Raw(table), bytes.data());
    StoreBigEndian(Raw(row), bytes.data() + 4);
    StoreBigEndian(first_column, bytes.data() + 12);
    return bytes;
  }
  // Requires kBytes bytes at `bytes`.
  static StoreKey Decode(const char* bytes) {
    return {TableId{LoadBigEndian<uint32_t>(bytes)}, RowId{LoadBigEndian<uint64_t>(bytes + 4)},
            LoadBigEndian<uint16_t>(bytes + 12)};
  }

 private:
  template <typename T>
  static void StoreBigEndian(T value, char* to) {
    for (size_t i = sizeof(T); i-- > 0;) {
      to[i] = static_cast<char>(value & 0xff);
      value = static_cast<T>(value >> 8);
    }
  }
  template <typename T>
  static T LoadBigEndian(const char* from) {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<uint8_t>(from[i]);
    return static_cast<T>(value);
  }
};

}  // namespace rowhouse
