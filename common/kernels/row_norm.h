// The p-norm of a row, and max_norm: a row with a larger norm is scaled down (torch's
// EmbeddingBag). Workers and shards each scale their copy of a row, so both must get the same bits,
// on any CPU.
//
// Exactness: sums are taken as in reductions.h (16 lanes, one tree, blocks in column order), but in
//            f64; p = 2 is the root of the sum of squares; any other finite p divides by the
//            greatest magnitude first, and its powers are our own arithmetic, because libm's pow
//            may differ between CPUs in the last bit.
// Threads:   any.
#pragma once

#include <span>

namespace rowhouse {

// (sum of |row[c]|^p)^(1/p); p = infinity: the greatest |row[c]|. 0 for no columns. Infinity where
// f64 cannot hold it. NaN if a weight is NaN; but p = infinity ignores weights that are NaN.
// Requires p > 0.
double RowNorm(std::span<const float> row, double p);

// If RowNorm(row, p) > max_norm: multiplies the row by f32(max_norm / (norm + 1e-7)) and returns
// true. A row whose norm is NaN is left as it is.
bool RenormaliseRow(double max_norm, double p, std::span<float> row);

}  // namespace rowhouse
