// The bytes of a block of samples; docs/data_format.md describes them for people.
//
//   BlockHeader
//   BlockArray[arrays]      what and where each array is
//   arrays                  each begins at a multiple of 8 bytes
//
// Arrays, in this order: labels; weights of samples, if the columns have them; each dense column;
// and of each categorical column three: offsets (samples + 1 numbers, as in Bags), ids, and the
// weights of ids (as many as ids, or 0 for none). All numbers are little-endian.
//
// Threads: plain data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "worker/data/blocks/data_description.h"

namespace rowhouse {

static_assert(std::endian::native == std::endian::little, "blocks are read as they lie on disk");

inline constexpr char kBlockMagic[8] = {'r', 'o', 'w', 'b', 'l', 'o', 'c', 'k'};
inline constexpr uint64_t kMaxBlockSamples = uint64_t{1} << 24;
inline constexpr uint64_t kMaxBlockIds = uint64_t{1} << 26;  // of one column

struct BlockHeader {
  char magic[8];
  uint32_t samples;
  uint32_t arrays;
};
static_assert(sizeof(BlockHeader) == 16);

enum class ArrayEncoding : uint8_t {
  kIntegers = 0,         // base + a number of `width` bytes, 0 to 8, modulo 2^64
  kFloats = 1,           // float32; width 4
  kFloatDictionary = 2,  // `base` float32, then for each value the index of its float, in `width`
                         // bytes: 0, 1 or 2
  kMultiples = 3,        // value i is i * base; no bytes; width 0
};

struct BlockArray {
  uint8_t encoding;  // ArrayEncoding
  uint8_t width;
  uint16_t zero;
  uint32_t count;  // of values
  uint64_t base;
  uint64_t offset;  // of its first byte, from the first byte of the block; a multiple of 8
};
static_assert(sizeof(BlockArray) == 24);

// Where a column's arrays stand in the list.
struct ArrayNumbers {
  explicit ArrayNumbers(const DataColumns& columns)
      : first_dense(columns.has_weights ? 2 : 1),
        first_categorical(first_dense + columns.dense.size()),
        count(first_categorical + 3 * columns.categorical.size()) {}

  static constexpr size_t kLabels = 0;
  static constexpr size_t kWeights = 1;  // if the columns have weights
  size_t OffsetsOf(size_t column) const { return first_categorical + 3 * column; }
  size_t IdsOf(size_t column) const { return OffsetsOf(column) + 1; }
  size_t IdWeightsOf(size_t column) const { return OffsetsOf(column) + 2; }

  const size_t first_dense, first_categorical, count;
};

// An unsigned number of Width bytes. Reads no byte behind it.
template <int Width>
uint64_t LoadNumber(const std::byte* at) {
  if constexpr (Width == 0) {
    return 0;
  } else if constexpr (Width == 3) {
    return LoadNumber<2>(at) | LoadNumber<1>(at + 2) << 16;
  } else if constexpr (Width == 5 || Width == 6 || Width == 7) {
    return LoadNumber<4>(at) | LoadNumber<Width - 4>(at + 4) << 32;
  } else {
    uint64_t value = 0;
    std::memcpy(&value, at, Width);
    return value;
  }
}

// Calls `function` with an integral_constant of `width`. Requires width in 0 .. 8.
template <typename Function>
auto WithWidth(uint8_t width, Function function) {
  switch (width) {
    case 0:
      return function(std::integral_constant<int, 0>());
    case 1:
      return function(std::integral_constant<int, 1>());
    case 2:
      return function(std::integral_constant<int, 2>());
    case 3:
      return function(std::integral_constant<int, 3>());
    case 4:
      return function(std::integral_constant<int, 4>());
    case 5:
      return function(std::integral_constant<int, 5>());
    case 6:
      return function(std::integral_constant<int, 6>());
    case 7:
      return function(std::integral_constant<int, 7>());
    default:
      return function(std::integral_constant<int, 8>());
  }
}

}  // namespace rowhouse
