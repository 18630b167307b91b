// Sums of bags of rows, their backward, and gathered rows: the inner loops of the EmbeddingBag
// operator (embedding_bag.h) and of the embedding layer. Rows are `dim` floats each, addressed by
// slot; rows has dim floats for each slot, out and gradient for each bag.
//
// Exactness: loops run over columns, so every instruction set gives the same bits.
// Threads:   pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rowhouse {

// A batch of bags in CSR form: bag b is slots[offsets[b] .. offsets[b + 1]).
struct BagView {
  std::span<const uint32_t> offsets;  // bags + 1 values: ascending places in slots
  std::span<const uint32_t> slots;
  std::span<const float> weights = {};  // one a lookup, or none; sums only

  size_t bags() const { return offsets.size() - 1; }
};

inline constexpr uint32_t kNoWinner = UINT32_MAX;

// Sums, of weight * row if there are weights.
void SumBags(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out);
// The greatest value of each column, and its position in bags.slots (bags x dim), or 0 and
// kNoWinner for an empty bag. The earliest position wins a tie; a NaN stays where it is first, else
// it loses.
void MaxBags(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out,
             std::span<uint32_t> winners);
// The backward of sums without weights: row_gradients[slot] += gradient[bag], lookup by lookup.
void AddSumGradients(const BagView& bags, std::span<const float> gradient, size_t dim,
                     std::span<float> row_gradients);
// The rows of all lookups, one after the other, not pooled: out is slots x dim.
void GatherRows(std::span<const uint32_t> slots, std::span<const float> rows, size_t dim,
                std::span<float> out);

// Adds the exact terms of bags to `sums` (bags x dim).
void AddExactSums(const BagView& bags, std::span<const float> rows, size_t dim,
                  std::span<double> sums);

}  // namespace rowhouse
