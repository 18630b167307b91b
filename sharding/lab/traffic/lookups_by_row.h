// LookupsByRow: where in a table its lookups lie, so that a slice of contiguous rows gets its true
// part of them. Where rows lie scattered, ranges of equal length have equal parts.
//
// Threads: const functions may be shared.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/types.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

class LookupsByRow {
 public:
  // `lookups`: of a step; they say how often it means the same row again.
  LookupsByRow(const TableAccesses& counted, double lookups);

  // Sums over rows, of any scale: only parts of the same table can be compared.
  struct Sum {
    double lookups = 0;
    double distinct_rows = 0;  // of a step
  };
  // Rows [begin, end) without `without`, which ascend.
  Sum Of(uint64_t begin, uint64_t end, std::span<const RowId> without) const;

 private:
  struct Point {  // a row whose lookups were counted by themselves
    uint64_t row = 0;
    Sum before;  // of the points before it
    Sum own;
  };
  // Rows [0, end).
  Sum Until(uint64_t end) const;
  Sum OfRow(RowId row) const;
  Sum OfColdRow(size_t range) const;

  uint64_t rows_ = 0, range_rows_ = 1;
  std::vector<Point> points_;  // by row, and one beyond the last
  std::vector<Sum>
      cold_before_;  // other rows, alike in a range: of the ranges before each; and all
};

}  // namespace rowhouse
