// Sums over the columns of a row whose bits depend neither on instruction set nor on slices.
//
// A row is taken in blocks of 16 columns. The partial of a block is one fixed tree over 16 lanes
// (lane i takes lane i + 8, then i + 4, i + 2, i + 1; columns that are missing count as 0), all in
// f32; the partials are added in column order. So the partials of slices of a row, added in column
// order, give the bits of the whole row.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <span>

namespace rowhouse {

inline constexpr size_t kReductionColumns = 16;  // of a block

// The partials added in column order; 0 for an empty row.
float SumOfSquares(std::span<const float> row);

// SumOfSquares / columns, one f32 division. Requires a row of at least one column.
float MeanSquare(std::span<const float> row);

}  // namespace rowhouse
