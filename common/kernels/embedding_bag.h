// The EmbeddingBag operator (torch.nn.EmbeddingBag) as pure functions over rows in memory: `dim`
// floats a row, addressed by slot. Forward takes quantised rows as well (RowsView), and gives the
// bits of the floats that they stand for.
//
// Forward, per bag:
//   sum   sum of weight * row (weight 1 when none are given), f32, left to right, from 0; with
//         `exact`, each term is rounded to a multiple of 2^-36, terms are added in f64 and the sum
//         is rounded once: the same bits in any grouping, while sums stay below 2^16
//   mean  that sum without weights, divided by the lookups of the bag
//   max   per column the greatest value; the earliest position in the bag wins a tie
//   an empty bag gives zeros
// Backward adds to each row's gradient, in lookup order:
//   sum   weight * g;  mean  g / lookups;  max  g, to the winner of each column
// Callers leave padding out of the bags (the embedding layer) and divide by lookups where a table
// says scale_grad_by_freq (the shards).
//
// Exactness: loops run over columns, so every instruction set gives the same bits.
// Threads:   pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/kernels/bag_kernels.h"

namespace rowhouse {

enum class Pooling { kSum, kMean, kMax };

struct BagOptions {
  Pooling pooling = Pooling::kSum;
  bool exact = false;  // sum and mean; see above
};

// Sizes below are in floats: rows has dim for each slot, out and gradient have dim for each bag.
// Requires offsets in order and weights for pooling by sum only; breaking a requirement aborts.

// Overwrites out. For max, `winners` (bags x dim) gets the position in bags.slots each column came
// from, kNoWinner for an empty bag; other poolings leave it alone and allow null.
void PoolBags(const BagView& bags, const BagOptions& options, const RowsView& rows, size_t dim,
              std::span<float> out, std::vector<uint32_t>* winners);

// Adds the gradients that the bags give to their rows; row_gradients has the shape of rows.
// `winners`, for max only, is what PoolBags wrote.
void AddBagGradients(const BagView& bags, const BagOptions& options,
                     std::span<const float> gradient, size_t dim,
                     const std::vector<uint32_t>* winners, std::span<float> row_gradients);

// The gradient of each lookup's weight, for pooling by sum: <row, gradient of its bag>.
std::vector<float> BagWeightGradients(const BagView& bags, std::span<const float> rows,
                                      std::span<const float> gradient, size_t dim);

}  // namespace rowhouse
