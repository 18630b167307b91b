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

// The p-norm of a row, and max_norm: a row with a larger norm is scaled down (torch's
// EmbeddingBag). Workers and shards each scale their copy of a row, so both must get the same bits,
// on any CPU.
//
// Sums are taken as above, but in f64; p = 2 is the root of the sum of squares; any other finite p
// divides by the greatest magnitude first, and its powers are our own arithmetic, because libm's
// pow may differ between CPUs in the last bit.

// (sum of |row[c]|^p)^(1/p); p = infinity: the greatest |row[c]|. 0 for no columns. Infinity where
// f64 cannot hold it. NaN if a weight is NaN; but p = infinity ignores weights that are NaN.
// Requires p > 0.
double RowNorm(std::span<const float> row, double p);

// If RowNorm(row, p) > max_norm: multiplies the row by f32(max_norm / (norm + 1e-7)) and returns
// true. A row whose norm is NaN is left as it is.
bool RenormaliseRow(double max_norm, double p, std::span<float> row);

}  // namespace rowhouse
