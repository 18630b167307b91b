#include "sharding/lab/gpu/lookup_shapes.h"

#include <fmt/format.h>

#include <algorithm>

namespace rowhouse {
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
