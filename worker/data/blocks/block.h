// A block of samples as bytes: what they are (docs/data_format.md describes them for people),
// EncodeBlock writes them, BlockView reads them.
//
//   BlockHeader
//   BlockArray[arrays]      what and where each array is
//   arrays                  each begins at a multiple of 8 bytes
//
// Arrays, in this order: labels; weights of samples, if the columns have them; each dense column;
// and of each categorical column three: offsets (samples + 1 numbers, as in Bags), ids, and the
// weights of ids (as many as ids, or 0 for none). All numbers are little-endian.
//
// Threads: pure functions; a BlockView is const. Any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
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

// ---- Writing --------------------------------------------------------------------------------

struct EncodedBlock {
  uint64_t samples = 0;
  std::string bytes;
};

// The bytes depend on columns and samples only. Integers are stored as differences from the
// smallest, in as few whole bytes as the largest needs, so that any value is found by its number
// (frame of reference; Goldstein, Ramakrishnan and Shaft, 1998). Floats of which a block has few
// different ones are stored as numbers of a dictionary.
//
// kUsage, naming the sample by its number in the batch, from 0, and the column, for a value that
// the form cannot hold: a label outside [0, 1], a number that is not finite, a negative weight of a
// sample, an id that is not below the column's rows. Requires a batch of the columns' shape with 1
// to kMaxBlockSamples samples; where it has no weights of samples, these are 1.
Result<EncodedBlock> EncodeBlock(const DataColumns& columns, const Batch& batch);

// ---- Reading --------------------------------------------------------------------------------

// Whether `bytes` are a block of this many samples of these columns that holds what EncodeBlock
// lets through. Otherwise kUsage with what is wrong. Reads all of it. No bytes make it read beyond
// them.
Status CheckBlock(const DataColumns& columns, uint64_t samples, std::span<const std::byte> bytes);

class BlockView {
 public:
  // Requires that CheckBlock has found the bytes right. They may be zeros by now, where the file
  // became shorter: then what is read is wrong, but no byte beyond them is read.
  BlockView(const ArrayNumbers& numbers, std::span<const std::byte> bytes)
      : numbers_(&numbers), bytes_(bytes) {}

  // samples: numbers within the block. Append* appends to *out (AppendBags: to *bags). CopyDense
  // writes sample i of the list to out[i * stride].
  void AppendLabels(std::span<const uint32_t> samples, std::vector<float>* out) const;
  void AppendWeights(std::span<const uint32_t> samples, std::vector<float>* out) const;
  void CopyDense(size_t column, std::span<const uint32_t> samples, size_t stride, float* out) const;
  void AppendBags(size_t column, std::span<const uint32_t> samples, Bags* bags) const;

 private:
  const ArrayNumbers* numbers_;
  std::span<const std::byte> bytes_;
};

}  // namespace rowhouse
