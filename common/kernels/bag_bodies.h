// The body of the kernels that pool bags (bag_kernels.cc), for vectors of kBytes. The compiler
// keeps a vector in a register only if it is not wider than the registers: each instruction set has
// its own kBytes. Tests compile every one.
//
// Exactness: a column depends on that column of the rows alone, in the order of the bag, so that
// the width of vectors does not change a bit.
#pragma once

#include <cstring>

#include "common/kernels/bag_kernels.h"
#include "common/kernels/target_clones.h"

namespace rowhouse {

// Rows lie far apart in memory: prefetching this many lookups ahead hides most of the wait.
inline constexpr size_t kRowsAhead = 16;
inline constexpr size_t kFloatsPerLine = 16;

inline constexpr size_t kLineBytes = kFloatsPerLine * sizeof(float);

enum class BagKernel { kSum, kWeightedSum, kMax };

struct BagWork {
  BagView bags;
  const std::byte* rows;
  uint32_t bits;  // of a number (quantised_rows.h)
  size_t row_bytes;
  size_t stride;  // from the begin of a row to that of the next
  size_t dim;
  float* out;
  uint32_t* winners;    // of floats; null: sums
  size_t prefetch_end;  // lookups before this one prefetch the row kRowsAhead later; 0: none does
};

ROWHOUSE_KERNEL_BODY void PrefetchBytes(const std::byte* bytes, size_t count) {
  for (size_t i = 0; i < count; i += kLineBytes) __builtin_prefetch(bytes + i);
  // A row that begins within a line ends in one more.
  if (count % kLineBytes != 0) __builtin_prefetch(bytes + count - 1);
}

ROWHOUSE_KERNEL_BODY const std::byte* RowOf(const BagWork& work, size_t lookup) {
  return work.rows + size_t{work.bags.slots[lookup]} * work.stride;
}

template <size_t kBytes>
struct VectorsOf {
  typedef float Floats __attribute__((vector_size(kBytes)));
  typedef int32_t Ints __attribute__((vector_size(kBytes)));
  typedef uint32_t Words __attribute__((vector_size(kBytes)));
  typedef uint16_t Halves __attribute__((vector_size(kBytes / 2)));
};

template <size_t kBytes>
struct LongsOf {
  typedef uint64_t Longs __attribute__((vector_size(kBytes)));
};

// values = the finite f16 in `bits`, as WidenF16 has them, without a branch.
template <size_t kBytes>
ROWHOUSE_KERNEL_BODY void WidenFinite(const typename VectorsOf<kBytes>::Ints& bits,
                                      typename VectorsOf<kBytes>::Floats* values) {
  typedef typename VectorsOf<kBytes>::Floats Floats;
  typedef typename VectorsOf<kBytes>::Ints Ints;
  const Ints magnitude = bits & 0x7fff;
  const Floats subnormal = __builtin_convertvector(magnitude, Floats) * 0x1p-24f;
  const Ints normal = (magnitude << 13) + (112 << 23);
  const Ints widened = magnitude < 0x0400 ? reinterpret_cast<Ints>(subnormal) : normal;
  *values = reinterpret_cast<Floats>(widened | (bits & 0x8000) << 16);
}

// The row's scale and bias, with fewer bits than 16.
template <uint32_t kBits>
ROWHOUSE_KERNEL_BODY void ReadScaleAndBias(const std::byte* row, size_t dim, float* both) {
  if constexpr (kBits == 8) std::memcpy(both, row + dim, 2 * sizeof(float));
  if constexpr (kBits < 8) {
    uint16_t halves[2];
    std::memcpy(halves, row + (dim * kBits + 7) / 8, sizeof(halves));
    VectorsOf<16>::Floats values;
    WidenFinite<16>(VectorsOf<16>::Ints{halves[0], halves[1]}, &values);
    both[0] = values[0];
    both[1] = values[1];
  }
}

// Whether a vector has a lane for every q, so that a row's numbers can be looked up by it.
template <uint32_t kBits, size_t kBytes>
inline constexpr bool kLooksUp = kBits <= 4 && kBytes == 64;

// Lane i: the number of a q of i; with 2 bits, of i modulo 4.
template <uint32_t kBits, size_t kBytes>
ROWHOUSE_KERNEL_BODY void NumbersOfRow(const float* scale_and_bias,
                                       typename VectorsOf<kBytes>::Floats* numbers) {
  if constexpr (kLooksUp<kBits, kBytes>) {
    typename VectorsOf<kBytes>::Floats q = {};
    for (uint32_t i = 0; i < 16; ++i) q[i] = static_cast<float>(i % (1u << kBits));
    *numbers = q * scale_and_bias[0] + scale_and_bias[1];
  }
}

// The q of fewer bits than 16, from `column` on; bits above them are others'. No vector expression
// makes GCC 12 choose the instructions that widen bytes, which AVX2 and AVX-512 have; elsewhere
// each lane shifts its own bits down from one word.
template <uint32_t kBits, size_t kBytes>
ROWHOUSE_KERNEL_BODY void ReadSmallNumbers(const std::byte* row, size_t column,
                                           typename VectorsOf<kBytes>::Ints* numbers) {
  typedef typename VectorsOf<kBytes>::Ints Ints;
  constexpr size_t kLanes = kBytes / sizeof(float), kPacked = (kLanes * kBits + 7) / 8;
  const std::byte* const from = row + column * kBits / 8;
  if constexpr (kBits == 8 && kLanes >= 8) {
    asm("vpmovzxbd %1, %0"
        : "=v"(*numbers)
        : "m"(*reinterpret_cast<const std::byte(*)[kPacked]>(from)));
  } else if constexpr (kBits == 4 && kLanes >= 8) {
    typename LongsOf<kBytes>::Longs pairs;  // a byte each, whose upper half moves to the next lane
    asm("vpmovzxbq %1, %0"
        : "=v"(pairs)
        : "m"(*reinterpret_cast<const std::byte(*)[kPacked]>(from)));
    *numbers = reinterpret_cast<Ints>(pairs | pairs << 28);
  } else {
    uint32_t word = 0;
    std::memcpy(&word, from, kPacked);
    if (kLanes == 1) word >>= column * kBits % 8;
    typename VectorsOf<kBytes>::Words words = {}, shifts = {};
    words += word;
    for (uint32_t lane = 0; lane < kLanes; ++lane) shifts[lane] = lane * kBits;
    *numbers = reinterpret_cast<Ints>(words >> shifts);
  }
}

// The numbers of a row from `column` on.
template <uint32_t kBits, size_t kBytes>
ROWHOUSE_KERNEL_BODY void ReadColumns(const std::byte* row, size_t column,
                                      const float* scale_and_bias,
                                      const typename VectorsOf<kBytes>::Floats& of_row,
                                      typename VectorsOf<kBytes>::Floats* values) {
  typedef typename VectorsOf<kBytes>::Floats Floats;
  typedef typename VectorsOf<kBytes>::Ints Ints;
  if constexpr (kBits == kFloatBits) {
    std::memcpy(values, row + column * sizeof(float), kBytes);
  } else if constexpr (kBits == 16) {
    typename VectorsOf<kBytes>::Halves halves;
    std::memcpy(&halves, row + column * sizeof(uint16_t), sizeof(halves));
    WidenFinite<kBytes>(__builtin_convertvector(halves, Ints), values);
  } else {
    Ints numbers;
    ReadSmallNumbers<kBits, kBytes>(row, column, &numbers);
    if constexpr (kLooksUp<kBits, kBytes>) {
      *values = __builtin_shuffle(of_row, numbers);  // takes them modulo 16
    } else {
      numbers &= (1 << kBits) - 1;
      *values = __builtin_convertvector(numbers, Floats) * scale_and_bias[0] + scale_and_bias[1];
    }
  }
}

// Prefetches what this pass over the bag reads of the row: of floats kBytes from `column` on. All
// lines of all rows, asked for in the first pass, are more than a CPU fetches at a time. Of smaller
// numbers the first pass asks for the whole row.
template <uint32_t kBits, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PrefetchColumns(const BagWork& work, size_t lookup, size_t column) {
  const std::byte* const row = RowOf(work, lookup);
  if constexpr (kBits == kFloatBits) {
    const std::byte* const columns = row + column * sizeof(float);
    for (size_t i = 0; i < kBytes; i += kLineBytes) __builtin_prefetch(columns + i);
  } else if (column == 0) {
    PrefetchBytes(row, work.row_bytes);
  }
}

// The columns of kVectors vectors, from `column` on, of bag `bag`: `length` lookups from `first`
// on.
template <BagKernel kKernel, bool kAhead, uint32_t kBits, size_t kBytes, size_t kVectors>
ROWHOUSE_KERNEL_BODY void PoolColumns(const BagWork& work, size_t bag, size_t first, size_t length,
                                      size_t column) {
  constexpr size_t kFloats = kBytes / sizeof(float);
  typedef typename VectorsOf<kBytes>::Floats Floats;
  typedef typename VectorsOf<kBytes>::Words Places;
  Floats pooled[kVectors] = {};
  Places winners[kVectors] = {};
  if (kKernel == BagKernel::kMax && length == 0) {
    for (Places& winner : winners) winner += kNoWinner;
  }
  for (size_t i = 0; i < length; ++i) {
    const size_t p = first + i;
    if (kAhead && p < work.prefetch_end) {
      PrefetchColumns<kBits, kBytes * kVectors>(work, p + kRowsAhead, column);
    }
    const std::byte* const row = RowOf(work, p);
    float scale_and_bias[2];
    ReadScaleAndBias<kBits>(row, work.dim, scale_and_bias);
    Floats of_row;
    NumbersOfRow<kBits, kBytes>(scale_and_bias, &of_row);
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Floats values;
      ReadColumns<kBits, kBytes>(row, column + v * kFloats, scale_and_bias, of_row, &values);
      if (kKernel == BagKernel::kSum) pooled[v] += values;
      if (kKernel == BagKernel::kWeightedSum) pooled[v] += work.bags.weights[p] * values;
      if (kKernel == BagKernel::kMax) {
        const Places place = Places{} + static_cast<uint32_t>(p);
        const auto wins = values > pooled[v];
        pooled[v] = i == 0 ? values : wins ? values : pooled[v];
        winners[v] = i == 0 ? place : wins ? place : winners[v];
      }
    }
  }
  const size_t to = bag * work.dim + column;
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    std::memcpy(work.out + to + v * kFloats, &pooled[v], kBytes);
    if (kKernel != BagKernel::kMax) continue;
    std::memcpy(work.winners + to + v * kFloats, &winners[v], kBytes);
  }
}

// Advances `column` while another kVectors vectors fit.
template <BagKernel kKernel, bool kAhead, uint32_t kBits, size_t kBytes, size_t kVectors>
ROWHOUSE_KERNEL_BODY void PoolBlocks(const BagWork& work, size_t bag, size_t first, size_t length,
                                     size_t* column) {
  constexpr size_t kColumns = kVectors * kBytes / sizeof(float);
  for (; *column + kColumns <= work.dim; *column += kColumns) {
    PoolColumns<kKernel, kAhead, kBits, kBytes, kVectors>(work, bag, first, length, *column);
  }
}

// kLength: as CommonLength has it, or 0 for any.
template <BagKernel kKernel, bool kAhead, uint32_t kBits, size_t kBytes, size_t kVectors,
          size_t kLength>
ROWHOUSE_KERNEL_BODY void PoolAllBags(const BagWork work) {
  const uint32_t* const offsets = work.bags.offsets.data();
  for (size_t bag = 0; bag < work.bags.bags(); ++bag) {
    const size_t first = kLength > 0 ? offsets[0] + bag * kLength : offsets[bag];
    const size_t length = kLength > 0 ? kLength : offsets[bag + 1] - first;
    size_t column = 0;
    PoolBlocks<kKernel, kAhead, kBits, kBytes, kVectors>(work, bag, first, length, &column);
    if (column == work.dim) continue;
    if (kVectors > 1)
      PoolBlocks<kKernel, kAhead, kBits, kBytes, 1>(work, bag, first, length, &column);
    PoolBlocks<kKernel, kAhead, kBits, 16, 1>(work, bag, first, length, &column);
    PoolBlocks<kKernel, kAhead, kBits, 4, 1>(work, bag, first, length, &column);
  }
}

// The length of all bags, or 0 if it varies.
ROWHOUSE_KERNEL_BODY size_t CommonLength(std::span<const uint32_t> offsets) {
  if (offsets.size() < 2) return 0;
  const uint32_t length = offsets[1] - offsets[0];
  bool is_common = true;
  for (size_t b = 1; b < offsets.size(); ++b) is_common &= offsets[b] - offsets[b - 1] == length;
  return is_common ? length : 0;
}

// A length that the compiler knows saves short bags their loops: one lookup, as one-hot features
// have, and four of rows of one vector. In the cache a single wide row is fastest vector by vector.
template <BagKernel kKernel, bool kAhead, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByShape(const BagWork& work) {
  const size_t length = CommonLength(work.bags.offsets);
  const size_t vectors = work.dim * sizeof(float) / kBytes;
  const bool is_wide = vectors >= 4, is_narrow = vectors < 2;
  if (length == 1) {
    if (is_wide && kAhead) return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 4, 1>(work);
    if (is_wide || is_narrow) return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 1, 1>(work);
    return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 2, 1>(work);
  }
  if (is_wide) return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 4, 0>(work);
  if (!is_narrow) return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 2, 0>(work);
  if (length == 4) return PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 1, 4>(work);
  PoolAllBags<kKernel, kAhead, kFloatBits, kBytes, 1, 0>(work);
}

template <BagKernel kKernel, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByPlace(const BagWork& work) {
  if (work.prefetch_end > 0) return PoolByShape<kKernel, true, kBytes>(work);
  PoolByShape<kKernel, false, kBytes>(work);
}

// What the shapes of bags save is little beside what it takes to unpack numbers.
template <BagKernel kKernel, uint32_t kBits, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolQuantised(const BagWork& work) {
  if (work.dim >= kBytes) return PoolAllBags<kKernel, true, kBits, kBytes, 4, 0>(work);
  PoolAllBags<kKernel, true, kBits, kBytes, 1, 0>(work);
}

template <BagKernel kKernel, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByBits(const BagWork& work) {
  if (work.bits == 16) return PoolQuantised<kKernel, 16, kBytes>(work);
  if (work.bits == 8) return PoolQuantised<kKernel, 8, kBytes>(work);
  if (work.bits == 4) return PoolQuantised<kKernel, 4, kBytes>(work);
  if (work.bits == 2) return PoolQuantised<kKernel, 2, kBytes>(work);
  PoolByPlace<kKernel, kBytes>(work);
}

template <size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByVectors(const BagWork& work) {
  if (work.winners != nullptr) {
    PoolByPlace<BagKernel::kMax, kBytes>(work);
  } else if (!work.bags.weights.empty()) {
    PoolByBits<BagKernel::kWeightedSum, kBytes>(work);
  } else {
    PoolByBits<BagKernel::kSum, kBytes>(work);
  }
}

}  // namespace rowhouse
