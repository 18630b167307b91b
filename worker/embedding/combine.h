// Combines the vectors of an id's parts to one vector (sharding/tables/table_kind.h), for n ids or
// n bags at a time, and goes back from the gradient of the combined vectors to that of each part.
// Elementwise, in part order: the same bits on any instruction set.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sharding/tables/table_kind.h"

namespace rowhouse {

// vectors[p]: n x dim, of part p; all parts have the same dim. out: overwritten; n x dim, or
// n x (parts * dim) for kConcat.
void CombineVectors(Combine combine, std::span<const std::vector<float>> vectors, size_t n,
                    size_t dim, std::span<float> out);

// out: the gradient of the vectors of part `part`, n x dim, overwritten. `gradient`: that of the
// combined vectors. `vectors` are those of CombineVectors.
void SplitGradient(Combine combine, std::span<const std::vector<float>> vectors, size_t part,
                   std::span<const float> gradient, size_t n, size_t dim, std::span<float> out);

}  // namespace rowhouse
