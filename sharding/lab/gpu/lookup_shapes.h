// Sizes of a lookup, from the shapes that a trace recorded of its operator.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/lab/gpu/lookup.h"

namespace rowhouse {

using Shape = std::vector<int64_t>;
using Shapes = std::vector<Shape>;

// Whether shape `i` is there, has `dims` dimensions, and all of them are from 1 to 2^31: no
// processor holds more, and products of two of them cannot wrap.
bool HasShape(const Shapes& shapes, size_t i, size_t dims);

// The functions below set the sizes of `lookup`, and say whether the shapes fit each other.

// Of [weights (tables * rows x dim), tables, ids, offsets (tables * samples + 1)].
bool ReadLookup(const Shapes& shapes, GpuLookup* lookup);
// Of [weights, ids, offsets], or of ids in two dimensions: samples x bag length.
bool ReadBags(const Shapes& shapes, GpuLookup* lookup);
// Of [weights, ids (one or two dimensions)]: an id is a bag of one.
bool ReadSingleIds(const Shapes& shapes, GpuLookup* lookup);
// Of [gradients (samples x dim, or samples x bag length x dim), ids]; rows are not in them, and
// stay as they are.
bool ReadBagGradients(const Shapes& shapes, GpuLookup* lookup);

// "32 bags of 4 in 1 tables of 1000 x 16"; 0 rows: not known.
std::string LookupSizesText(const GpuLookup& lookup);

}  // namespace rowhouse
