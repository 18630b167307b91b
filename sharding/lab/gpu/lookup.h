// Embedding lookups on a graphics processor: forward with the hit rate of its L2 cache, backward
// with SGD, backward with row-wise Adagrad. The models are those of gpu_model.h's authors: bytes in
// sectors of 32 bytes over the bandwidth of memory and of L2; the slower one decides.
//
// `tables` tables of `rows` rows, `samples` bags of `bag_length` ids each, rows of `dim` floats;
// the kernel gives a warp to each bag and puts `rows_per_block` of them into a block. Threads: pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/lab/gpu/gpu_model.h"

namespace rowhouse {

struct GpuLookup {
  uint64_t samples = 1;     // >= 1
  uint64_t rows = 1;        // of each table; >= 1
  uint64_t tables = 1;      // >= 1
  uint64_t bag_length = 1;  // >= 1
  uint64_t dim = 1;         // >= 1
  uint32_t rows_per_block = 32;
  bool uses_shared_memory = false;  // which variant of the kernel: indices go through it
};

struct GpuLookupForward {
  double us = 0;
  double dram_bytes = 0;
  double l2_bytes = 0;
  double hit_rate = 0;        // that all rows of a bag are in L2
  double resident_bytes = 0;  // of a table in L2
  uint64_t resident_rows = 0;
  uint64_t tables_at_once = 0;
  bool is_bound_by_dram = true;
};

// kUsage: the original form divides by zero, with more samples than rows.
Result<GpuLookupForward> LookupForwardOn(const GpuModel& gpu, const GpuLookup& lookup,
                                         GpuForm form = GpuForm::kCorrected);

// Microseconds of the backward pass, update of the rows included.
double LookupBackwardSgdUs(const GpuModel& gpu, const GpuLookup& lookup,
                           GpuForm form = GpuForm::kCorrected);
double LookupBackwardAdagradUs(const GpuModel& gpu, const GpuLookup& lookup);

// ---- The authors' later model (2022): expected distinct rows instead of one bag's luck ----------
// Stands beside what is predicted of an operator (OpCost); no sum goes by it.

struct GpuLookupHits {
  uint64_t cached_rows = 0;  // of a table, in 0.9 of L2
  double distinct_rows = 0;  // expected, of a table in a step
  // Of lookups. Not monotonic in cached_rows: a row's first lookup misses, and they are counted as
  // cached_rows where not all distinct rows fit.
  double hit_rate = 0;
};
// `tables_at_once` share the cache; 1 or more.
GpuLookupHits LaterLookupHits(const GpuLookup& lookup, uint64_t cache_bytes,
                              uint64_t tables_at_once);

// All bytes from memory, with a header of 96 bytes a bag.
double LaterSimpleForwardBytes(const GpuLookup& lookup);

// With hits, by the bandwidth curve of the memory, times the authors' factor for narrow rows (1.55
// up to 32 floats, 1.1 up to 64). It was fitted to steps that take much longer than the curve's
// latency.
double LaterLookupForwardUs(const GpuModel& gpu, const GpuLookup& lookup);

// Sizes of a lookup, from the shapes that a trace recorded of its operator.
//
// Threads: pure functions.

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
