#include "sharding/lab/gpu/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

// Sectors: what memory moves at least.
uint64_t Sectors(uint64_t bytes) { return (bytes + 31) / 32 * 32; }

double D(uint64_t value) { return static_cast<double>(value); }

// Of draws without replacement from `rows` rows, the probability that all hit `resident` ones.
double AllHit(uint64_t resident, uint64_t rows, uint64_t draws) {
  double hit = 1;
  for (uint64_t k = 0; k < std::min(draws, rows); ++k) {
    if (k >= resident) return 0;
    hit *= D(resident - k) / D(rows - k);
  }
  return hit;
}

uint64_t TablesAtOnce(const GpuModel& gpu, const GpuLookup& lookup) {
  const uint64_t warps = uint64_t{gpu.multiprocessors} * lookup.rows_per_block;
  return (warps + lookup.samples - 1) / lookup.samples;
}

}  // namespace

Result<GpuLookupForward> LookupForwardOn(const GpuModel& gpu, const GpuLookup& lookup,
                                         GpuForm form) {
  const bool is_original = form == GpuForm::kOriginal;
  if (is_original && lookup.samples > lookup.rows) {
    return UsageError(
        "the original form of the lookup model divides by zero: {} samples, {} rows a table",
        lookup.samples, lookup.rows);
  }
  const uint64_t indices = Sectors(4 * lookup.bag_length);
  const uint64_t indices_in_l2 = lookup.uses_shared_memory ? 0 : indices;
  const uint64_t row = Sectors(4 * lookup.dim);
  GpuLookupForward cost;
  cost.tables_at_once = TablesAtOnce(gpu, lookup);
  if (form == GpuForm::kCorrected) {
    cost.tables_at_once = std::min(cost.tables_at_once, lookup.tables);
  }
  const uint64_t share = gpu.l2_bytes_of(form) / cost.tables_at_once;
  const double table_bytes = 4 * D(lookup.rows) * D(lookup.dim);
  const uint64_t resident = D(share) < table_bytes ? share : static_cast<uint64_t>(table_bytes);
  cost.resident_bytes = D(resident);
  if (resident > indices_in_l2) {
    cost.resident_rows = (resident - indices_in_l2) / 4 / lookup.dim;
  }
  cost.hit_rate =
      AllHit(cost.resident_rows, lookup.rows, is_original ? lookup.samples : lookup.bag_length);
  // L2 is filled with what is looked up, and lookups beyond that may hit. As published, it is
  // filled whatever is looked up, and `beyond` may be negative.
  const double looked_up = D(lookup.bag_length) * D(row) * D(lookup.samples);
  const double filled =
      form == GpuForm::kCorrected ? std::min(D(resident), looked_up) : D(resident);
  const double beyond = looked_up - filled;
  cost.dram_bytes = D(lookup.tables) *
                    (D(lookup.samples) * D(indices + row) + (1 - cost.hit_rate) * beyond + filled);
  const uint64_t of_row = std::max<uint64_t>(1, lookup.dim / 4);
  const uint64_t of_block = std::max<uint64_t>(1, 1024 / lookup.rows_per_block);
  const uint64_t threads = is_original ? std::max(of_row, of_block) : std::min(of_row, of_block);
  const uint64_t index_reads = lookup.uses_shared_memory ? 0 : lookup.dim / (4 * threads) * indices;
  cost.l2_bytes =
      D(lookup.tables) * (D(lookup.samples) * D(64 + index_reads) + cost.hit_rate * beyond);
  const double dram_us = cost.dram_bytes / gpu.dram_gbs / 1000;
  const double l2_us = cost.l2_bytes / gpu.l2_gbs / 1000;
  cost.is_bound_by_dram = dram_us >= l2_us;
  cost.us = std::max(dram_us, l2_us);
  return cost;
}

double LookupBackwardSgdUs(const GpuModel& gpu, const GpuLookup& lookup, GpuForm form) {
  const double length = D(lookup.bag_length);
  const double row = D(Sectors(4 * lookup.dim));
  double bytes = 64 + 2 * length * row;
  if (!lookup.uses_shared_memory) {
    bytes += 32 * length + 2 * length * row;
  } else {
    bytes += D(Sectors(4 * lookup.bag_length)) + row;
    // Measured on a V100 for 16 to 128 ids a bag: as long as without shared memory, twice what
    // the model says otherwise.
    if (form == GpuForm::kCorrected) bytes += 2 * length * row;
  }
  const double bags = D(lookup.samples) * D(lookup.tables);
  const double multiply_adds = bags * length * 4 * D(lookup.dim / 4);
  return std::max(bags * bytes / gpu.dram_gbs / 1000, multiply_adds / gpu.gflops / 1000);
}

double LookupBackwardAdagradUs(const GpuModel& gpu, const GpuLookup& lookup) {
  const double length = D(lookup.bag_length);
  const double row = D(Sectors(4 * lookup.dim));
  const double bytes = 64 + 2 * D(Sectors(4 * lookup.bag_length)) + (3 * length + 1) * row;
  return D(lookup.samples) * D(lookup.tables) * bytes / gpu.dram_gbs / 1000;
}

GpuLookupHits LaterLookupHits(const GpuLookup& lookup, uint64_t cache_bytes,
                              uint64_t tables_at_once) {
  const double lookups = D(lookup.samples * lookup.bag_length);
  const double rows = D(lookup.rows);
  GpuLookupHits hits;
  const double in_cache = D(cache_bytes) * 0.9 / D(tables_at_once) / 4 / D(lookup.dim);
  hits.cached_rows =
      std::min({static_cast<uint64_t>(in_cache), lookup.rows, lookup.samples * lookup.bag_length});
  // log1p: 1 - 1/rows loses digits.
  hits.distinct_rows = lookup.rows == 1 ? 1 : -rows * std::expm1(lookups * std::log1p(-1 / rows));
  const double cached = D(hits.cached_rows);
  const double misses = hits.distinct_rows > cached
                            ? cached + (lookups - cached) * (rows - cached) / rows
                            : hits.distinct_rows;
  hits.hit_rate = 1 - misses / lookups;
  return hits;
}

double LaterSimpleForwardBytes(const GpuLookup& lookup) {
  const uint64_t row = Sectors(4 * lookup.dim);
  return D(lookup.samples * lookup.tables *
           (32 + 64 + Sectors(4 * lookup.bag_length) + lookup.bag_length * row + row));
}

double LaterLookupForwardUs(const GpuModel& gpu, const GpuLookup& lookup) {
  const uint64_t at_once = std::min(TablesAtOnce(gpu, lookup), lookup.tables);
  const double hit_rate = LaterLookupHits(lookup, gpu.l2_bytes, at_once).hit_rate;
  const double rows_bytes =
      D(lookup.samples * lookup.tables * lookup.bag_length * Sectors(4 * lookup.dim));
  const double dram_bytes = LaterSimpleForwardBytes(lookup) - hit_rate * rows_bytes;
  const double factor = lookup.dim > 64 ? 1 : lookup.dim > 32 ? 1.1 : 1.55;
  return factor *
         std::max(DataMovementUs(gpu.dram, dram_bytes), hit_rate * rows_bytes / gpu.l2_gbs / 1000);
}

namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

uint64_t AsUnsigned(int64_t size) { return static_cast<uint64_t>(size); }

// The mean, to the nearest id.
uint64_t BagLength(uint64_t ids, uint64_t bags) {
  return std::max<uint64_t>(1, (ids + bags / 2) / bags);
}

uint64_t Product(const Shape& shape) {
  uint64_t product = 1;
  for (const int64_t size : shape) product *= AsUnsigned(size);
  return product;
}

// Of `dims` dimensions or one more: samples x bag length stand where otherwise bags do. Not so
// large that a product wraps.
bool HasFlatOrDeep(const Shapes& shapes, size_t i, size_t dims) {
  if (!HasShape(shapes, i, dims) && !HasShape(shapes, i, dims + 1)) return false;
  double product = 1;
  for (const int64_t size : shapes[i]) product *= static_cast<double>(size);
  return product <= 0x1p50;
}

}  // namespace

bool HasShape(const Shapes& shapes, size_t i, size_t dims) {
  return i < shapes.size() && shapes[i].size() == dims &&
         std::all_of(shapes[i].begin(), shapes[i].end(),
                     [](int64_t size) { return size >= 1 && size <= kMaxSize; });
}

bool ReadLookup(const Shapes& shapes, GpuLookup* lookup) {
  if (!HasShape(shapes, 0, 2) || !HasShape(shapes, 1, 1) || !HasShape(shapes, 2, 1) ||
      !HasShape(shapes, 3, 1)) {
    return false;
  }
  const uint64_t tables = AsUnsigned(shapes[1][0]), bags = AsUnsigned(shapes[3][0]) - 1;
  lookup->tables = tables;
  lookup->dim = AsUnsigned(shapes[0][1]);
  lookup->rows = AsUnsigned(shapes[0][0]) / tables;
  lookup->samples = bags / tables;
  if (lookup->rows < 1 || lookup->samples < 1) return false;
  lookup->bag_length = std::max<uint64_t>(1, AsUnsigned(shapes[2][0]) / bags);
  return true;
}

bool ReadBags(const Shapes& shapes, GpuLookup* lookup) {
  if (!HasShape(shapes, 0, 2)) return false;
  lookup->rows = AsUnsigned(shapes[0][0]);
  lookup->dim = AsUnsigned(shapes[0][1]);
  if (HasShape(shapes, 1, 2)) {
    lookup->samples = AsUnsigned(shapes[1][0]);
    lookup->bag_length = AsUnsigned(shapes[1][1]);
    return true;
  }
  // A batch may have no ids of a table.
  if (shapes.size() < 2 || shapes[1] != Shape{0}) {
    if (!HasShape(shapes, 1, 1)) return false;
  }
  if (!HasShape(shapes, 2, 1)) return false;
  lookup->samples = AsUnsigned(shapes[2][0]);
  lookup->bag_length = BagLength(AsUnsigned(shapes[1][0]), lookup->samples);
  return true;
}

bool ReadSingleIds(const Shapes& shapes, GpuLookup* lookup) {
  if (!HasShape(shapes, 0, 2) || !HasFlatOrDeep(shapes, 1, 1)) return false;
  lookup->rows = AsUnsigned(shapes[0][0]);
  lookup->dim = AsUnsigned(shapes[0][1]);
  lookup->samples = Product(shapes[1]);
  lookup->bag_length = 1;
  return true;
}

bool ReadBagGradients(const Shapes& shapes, GpuLookup* lookup) {
  const bool has_ids = shapes.size() > 1 && shapes[1] != Shape{0};
  if (!HasFlatOrDeep(shapes, 0, 2) || (has_ids && !HasFlatOrDeep(shapes, 1, 1))) return false;
  lookup->dim = AsUnsigned(shapes[0].back());
  lookup->samples = Product(shapes[0]) / lookup->dim;
  lookup->bag_length = BagLength(has_ids ? Product(shapes[1]) : 0, lookup->samples);
  return true;
}

std::string LookupSizesText(const GpuLookup& lookup) {
  if (lookup.rows == 0) {
    return fmt::format("{} bags of {} x {}", lookup.samples, lookup.bag_length, lookup.dim);
  }
  return fmt::format("{} bags of {} in {} table{} of {} x {}", lookup.samples, lookup.bag_length,
                     lookup.tables, lookup.tables == 1 ? "" : "s", lookup.rows, lookup.dim);
}

}  // namespace rowhouse
