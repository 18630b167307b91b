// CacheBudget: divides a node's bytes for cached rows among its tables so that the fewest accesses
// miss, given each table's miss ratio as a function of its cache size
// (sharding/plans/reuse_sampler.h).
//
// Bytes go, one after the other, where they save most misses. Each table's hits are replaced by
// their upper concave hull, for which this greedy division is optimal (Suh, Devadas and Rudolph,
// 2001; Talus, Beckmann and Sanchez, 2015, say why hulls). Moving rows costs reads, so small gains
// move nothing.
//
// Until accesses are known, bytes lie as the plan says (sharding/plans/cache_division.h).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace rowhouse {

struct TableDemand {
  uint64_t bytes = 0;                                          // of all its rows
  uint64_t least_bytes = 0;                                    // it keeps at least these
  uint64_t most_bytes = std::numeric_limits<uint64_t>::max();  // it may have at most these
  uint64_t row_bytes = 1;                                      // of one cached row, > 0
  double accesses = 0.0;                                       // as the reuse sampler weighs them
  std::function<double(double cache_rows)> miss_ratio;         // falls with rows, [0, 1]
  uint64_t has_bytes = 0;                                      // now
};

// Expected misses over all tables with these bytes each.
double PredictedMisses(const std::vector<TableDemand>& tables, const std::vector<uint64_t>& bytes);

// Bytes of each table: at most what all its rows take and most_bytes; at least least_bytes, as far
// as the budget allows. The sum is at most `budget`, and less only if no table needs more.
// Deterministic.
std::vector<uint64_t> SplitBudget(const std::vector<TableDemand>& tables, uint64_t budget);

// As SplitBudget, but the tables keep the bytes that they have now if a new division would save
// less than the share `least_saving` of the misses that are predicted for the present one. If the
// tables exceed the budget, it is always divided anew, at once. Otherwise at most about
// `most_moved` bytes move in one call; the next call moves on.
std::vector<uint64_t> MoveBudget(const std::vector<TableDemand>& tables, uint64_t budget,
                                 double least_saving = 0.05,
                                 uint64_t most_moved = std::numeric_limits<uint64_t>::max());

}  // namespace rowhouse
