// Combining the vectors of an id's parts to one (sharding/tables/table_kind.h), for n ids or n bags
// at a time, forward and backward. Elementwise, in part order: the same bits on any instruction
// set.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sharding/tables/table_kind.h"

namespace rowhouse {

// vectors[p]: n x dim, of part p; all parts have the same dim. out: n x width, overwritten, where
// width is dim, or parts x dim for kConcat.
void CombineVectors(Combine combine, std::span<const std::vector<float>> vectors, size_t n,
                    size_t dim, std::span<float> out);

// The gradient of part `part`'s vectors, n x dim, overwritten, from that of the combined ones.
// `vectors` are those of CombineVectors.
void SplitGradient(Combine combine, std::span<const std::vector<float>> vectors, size_t part,
                   std::span<const float> gradient, size_t n, size_t dim, std::span<float> out);

}  // namespace rowhouse
