// Sums of bags of rows, their backward, and gathered rows: the inner loops of the EmbeddingBag
// operator (embedding_bag.h) and of the embedding layer. Rows are `dim` numbers each, addressed by
// slot; out and gradient have dim floats for each bag.
//
// Sums read quantised rows as they lie; nothing unpacks them to memory.
//
// Exactness: loops run over columns, so every instruction set gives the same bits, and quantised
// rows those of the floats that DequantiseRows makes of them.
// Threads:   pure functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/kernels/quantised_rows.h"

namespace rowhouse {

// Rows in memory: floats, or quantised (quantised_rows.h), one after the other or `stride` bytes
// from one to the next.
struct RowsView {
  RowsView() = default;
  template <std::convertible_to<std::span<const float>> Floats>
  RowsView(const Floats& floats)  // NOLINT: implicit by intent
      : bytes(std::as_bytes(std::span<const float>(floats))) {}
  RowsView(std::span<const std::byte> rows, uint32_t bits_of_number, size_t row_stride = 0)
      : bytes(rows), bits(bits_of_number), stride(row_stride) {}

  // From the begin of a row of `dim` numbers to that of the next.
  size_t BytesToNext(size_t dim) const { return stride > 0 ? stride : BytesOfRow(bits, dim); }

  std::span<const std::byte> bytes;
  uint32_t bits = kFloatBits;  // of a number; see quantised_rows.h
  size_t stride = 0;           // 0: rows without gaps
};

// A batch of bags in CSR form: bag b is slots[offsets[b] .. offsets[b + 1]).
struct BagView {
  std::span<const uint32_t> offsets;  // bags + 1 values: ascending places in slots
  std::span<const uint32_t> slots;
  std::span<const float> weights = {};  // one a lookup, or none; sums only

  size_t bags() const { return offsets.size() - 1; }
};

// What the sums and maxima below are compiled for on this CPU, which has the best of three:
// "AVX-512", "AVX2", "basic instructions".
const char* BagInstructions();

inline constexpr uint32_t kNoWinner = UINT32_MAX;

// Sums, of weight * row if there are weights.
void SumBags(const BagView& bags, const RowsView& rows, size_t dim, std::span<float> out);
// The greatest value of each column, and its position in bags.slots (bags x dim), or 0 and
// kNoWinner for an empty bag. The earliest position wins a tie; a NaN stays where it is first, else
// it loses.
// Requires rows of floats.
void MaxBags(const BagView& bags, const RowsView& rows, size_t dim, std::span<float> out,
             std::span<uint32_t> winners);
// The backward of sums without weights: row_gradients[slot] += gradient[bag], lookup by lookup.
void AddSumGradients(const BagView& bags, std::span<const float> gradient, size_t dim,
                     std::span<float> row_gradients);
// The rows of all lookups as floats, one after the other, not pooled: out is slots x dim.
void GatherRows(std::span<const uint32_t> slots, const RowsView& rows, size_t dim,
                std::span<float> out);

// Adds the exact terms of bags to `sums` (bags x dim). Requires rows of floats.
void AddExactSums(const BagView& bags, const RowsView& rows, size_t dim, std::span<double> sums);

}  // namespace rowhouse
