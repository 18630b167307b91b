// Lookups alone, by the code that scores with rows in memory: ids are checked, rows are read where
// they lie and copied to their place, one a bag.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/dense/dense_parameters.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {

class LookupTiming {
 public:
  // A table of so many rows x dim floats at the beginning of `memory`, which outlives this.
  LookupTiming(std::span<const float> memory, uint64_t rows, uint32_t dim);

  // Nanoseconds of one call that looks up so many rows, evenly spread; other rows each time.
  double CallNs(uint64_t lookups);
  // The median of so many calls, after one that is not counted.
  double MedianNs(uint64_t lookups, int calls);

  uint64_t bytes() const { return rows_ * dim_ * sizeof(float); }

 private:
  const uint64_t rows_;
  const uint32_t dim_;
  DenseParameters no_projections_;
  EmbeddingLayer layer_;
  std::vector<Bags> bags_;
  std::vector<float> out_;
  uint64_t calls_ = 0;
};

// The time of lookups over the size of their table.
struct TableTime {
  uint64_t bytes = 0;
  double ns_per_row = 0;
};

// Where the time of a row leaves the small tables' for the large ones': the size at which it is
// their geometric mean, by interpolation in logarithms. 0 if large tables take less than 1.3 times
// as long as small ones: there is no knee. `times`: by ascending size.
uint64_t KneeOf(std::span<const TableTime> times);

// Tables of `dim` floats, 256 KiB, 512 KiB, ... and all of `memory`, `lookups` rows a call.
std::vector<TableTime> TimesOverTableSize(std::span<const float> memory, uint32_t dim,
                                          uint64_t lookups);

}  // namespace rowhouse
