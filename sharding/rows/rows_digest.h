// RowsDigest: 128 bits that say whether two sets of rows are the same, bit for bit, however they
// are spread over shards and in whatever order they are read.
//
// It is the sum mod 2^128, over every weight and state float of every existing row, of
//   XXH3_128bits(seed = XXH3_64bits(table name), 16 bytes: row     u64 little-endian
//                                                          column  u16 little-endian
//                                                          part    u16 little-endian
//                                                          value   u32 little-endian, its bits
//                                                                  as f32)
// where `column` is global (first column of the slice + i); `part` is 0 for a weight, 1 + p for
// the state float of plane p, and 0x8000 + j, at column 0, for float j of the row's own state
// (sharding/rows/optimizer.h). A weight kept in 16 bits counts as the f32 of the same value. The
// trailer does not count. The definition never changes: manifests hold digests of earlier versions.
//
// Threads: one per RowsDigest; make one per thread or shard and Merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/status.h"
#include "common/types.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"

namespace rowhouse {

// What the digest needs to know of a table, made once.
class DigestedTable {
 public:
  DigestedTable(std::string_view name, StateShape state_shape);

  uint64_t name_hash() const { return name_hash_; }
  StateShape state_shape() const { return state_shape_; }

 private:
  uint64_t name_hash_;
  StateShape state_shape_;
};

class RowsDigest {
 public:
  RowsDigest() = default;
  // From the high() and low() of another.
  RowsDigest(uint64_t high, uint64_t low)
      : sum_(static_cast<unsigned __int128>(high) << 64 | low) {}

  // Adds the columns of a row that `record` holds: [first_column, first_column + layout.dim). State
  // of the whole row, of which every slice has the same copy, counts with column 0. Requires a
  // layout whose state has the table's shape.
  void Add(const DigestedTable& table, RowId row, uint16_t first_column, const RecordLayout& layout,
           const std::byte* record);

  void Merge(const RowsDigest& other) { sum_ += other.sum_; }

  std::string hex() const;  // 32 digits, most significant first; all 0 for no rows
  static Result<RowsDigest> FromHex(const std::string& hex);  // kCorruption if it is none
  uint64_t high() const { return static_cast<uint64_t>(sum_ >> 64); }
  uint64_t low() const { return static_cast<uint64_t>(sum_); }

  bool operator==(const RowsDigest&) const = default;

 private:
  void AddFloats(uint64_t name_hash, RowId row, size_t first_column, uint16_t part,
                 std::span<const float> values);

  unsigned __int128 sum_ = 0;
};

}  // namespace rowhouse
