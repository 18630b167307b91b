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

enum class BagKernel { kSum, kWeightedSum, kMax };

struct BagWork {
  BagView bags;
  const float* rows;
  size_t dim;
  float* out;
  uint32_t* winners;    // null: sums
  size_t prefetch_end;  // lookups before this one prefetch the row kRowsAhead later; 0: none does
};

ROWHOUSE_KERNEL_BODY void PrefetchFloats(const float* values, size_t count) {
  for (size_t i = 0; i < count; i += kFloatsPerLine) __builtin_prefetch(values + i);
}

ROWHOUSE_KERNEL_BODY const float* RowOf(const BagWork& work, size_t lookup) {
  return work.rows + size_t{work.bags.slots[lookup]} * work.dim;
}

// The columns of kVectors vectors, from `column` on, of bag `bag`: `length` lookups from `first`
// on.
template <BagKernel kKernel, bool kAhead, size_t kBytes, size_t kVectors>
ROWHOUSE_KERNEL_BODY void PoolColumns(const BagWork& work, size_t bag, size_t first, size_t length,
                                      size_t column) {
  constexpr size_t kFloats = kBytes / sizeof(float);
  typedef float Floats __attribute__((vector_size(kBytes)));
  typedef uint32_t Places __attribute__((vector_size(kBytes)));
  Floats pooled[kVectors] = {};
  Places winners[kVectors] = {};
  if (kKernel == BagKernel::kMax && length == 0) {
    for (Places& winner : winners) winner += kNoWinner;
  }
  for (size_t i = 0; i < length; ++i) {
    const size_t p = first + i;
    if (kAhead && column == 0 && p < work.prefetch_end) {
      PrefetchFloats(RowOf(work, p + kRowsAhead), work.dim);
    }
    const float* const row = RowOf(work, p) + column;
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Floats values;
      std::memcpy(&values, row + v * kFloats, kBytes);
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
template <BagKernel kKernel, bool kAhead, size_t kBytes, size_t kVectors>
ROWHOUSE_KERNEL_BODY void PoolBlocks(const BagWork& work, size_t bag, size_t first, size_t length,
                                     size_t* column) {
  constexpr size_t kColumns = kVectors * kBytes / sizeof(float);
  for (; *column + kColumns <= work.dim; *column += kColumns) {
    PoolColumns<kKernel, kAhead, kBytes, kVectors>(work, bag, first, length, *column);
  }
}

// kLength: as CommonLength has it, or 0 for any.
template <BagKernel kKernel, bool kAhead, size_t kBytes, size_t kVectors, size_t kLength>
ROWHOUSE_KERNEL_BODY void PoolAllBags(const BagWork work) {
  const uint32_t* const offsets = work.bags.offsets.data();
  for (size_t bag = 0; bag < work.bags.bags(); ++bag) {
    const size_t first = kLength > 0 ? offsets[0] + bag * kLength : offsets[bag];
    const size_t length = kLength > 0 ? kLength : offsets[bag + 1] - first;
    size_t column = 0;
    PoolBlocks<kKernel, kAhead, kBytes, kVectors>(work, bag, first, length, &column);
    if (column == work.dim) continue;
    if (kVectors > 1) PoolBlocks<kKernel, kAhead, kBytes, 1>(work, bag, first, length, &column);
    PoolBlocks<kKernel, kAhead, 16, 1>(work, bag, first, length, &column);
    PoolBlocks<kKernel, kAhead, 4, 1>(work, bag, first, length, &column);
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
// have, and four of narrow rows. In the cache a single row is fastest vector by vector.
template <BagKernel kKernel, bool kAhead, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByShape(const BagWork& work) {
  const size_t length = CommonLength(work.bags.offsets);
  const bool is_wide = work.dim >= kBytes;  // four vectors
  if (length == 1 && is_wide && kAhead) return PoolAllBags<kKernel, kAhead, kBytes, 4, 1>(work);
  if (length == 1) return PoolAllBags<kKernel, kAhead, kBytes, 1, 1>(work);
  if (length == 4 && !is_wide) return PoolAllBags<kKernel, kAhead, kBytes, 1, 4>(work);
  if (is_wide) return PoolAllBags<kKernel, kAhead, kBytes, 4, 0>(work);
  PoolAllBags<kKernel, kAhead, kBytes, 1, 0>(work);
}

template <BagKernel kKernel, size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByPlace(const BagWork& work) {
  if (work.prefetch_end > 0) return PoolByShape<kKernel, true, kBytes>(work);
  PoolByShape<kKernel, false, kBytes>(work);
}

template <size_t kBytes>
ROWHOUSE_KERNEL_BODY void PoolByVectors(const BagWork& work) {
  if (work.winners != nullptr) {
    PoolByPlace<BagKernel::kMax, kBytes>(work);
  } else if (!work.bags.weights.empty()) {
    PoolByPlace<BagKernel::kWeightedSum, kBytes>(work);
  } else {
    PoolByPlace<BagKernel::kSum, kBytes>(work);
  }
}

}  // namespace rowhouse
