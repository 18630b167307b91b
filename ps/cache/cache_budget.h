// CacheBudget: how a node's bytes for cached rows are dealt to its tables so that the fewest
// accesses miss, from what each table would miss at any size (ps/cache/reuse_sampler.h).
//
// Bytes go where the next ones save most misses, along the upper concave hull of each table's hits,
// which is best for hulls (Suh, Devadas and Rudolph, 2001; Talus, Beckmann and Sanchez, 2015, for
// why hulls). Moving rows costs reads, so nothing moves for little.
//
// Before anything is known of the accesses, tables get equal shares.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace rowhouse {

// Of each what it wants, or an equal share of what those that want less have left.
std::vector<uint64_t> EqualShares(const std::vector<uint64_t>& wanted, uint64_t budget);

struct TableDemand {
  uint64_t bytes = 0;                                          // of all its rows: more is of no use
  uint64_t least_bytes = 0;                                    // that it keeps at any rate
  uint64_t most_bytes = std::numeric_limits<uint64_t>::max();  // that it may have, if not all
  uint64_t row_bytes = 1;                                      // of one cached row, > 0
  double accesses = 0.0;                                       // in the time that is looked back on
  std::function<double(double cache_rows)> miss_ratio;         // falls with rows
  uint64_t has_bytes = 0;                                      // now
};

// Misses over all tables, if they have these bytes.
double PredictedMisses(const std::vector<TableDemand>& tables, const std::vector<uint64_t>& bytes);

// Bytes of each table: none has more than all its rows take, or it may have, nor less than its
// least as far as the budget goes; all together at most `budget`, and all of it is dealt out as far
// as rows need it. Deterministic.
std::vector<uint64_t> SplitBudget(const std::vector<TableDemand>& tables, uint64_t budget);

// The same, but what tables have now unless a new split would save `least_saving` of the misses
// that are predicted for now, or they have more than the budget. No more than about `most_moved`
// bytes are given from tables to others at once: a part of the way there.
std::vector<uint64_t> MoveBudget(const std::vector<TableDemand>& tables, uint64_t budget,
                                 double least_saving = 0.05,
                                 uint64_t most_moved = std::numeric_limits<uint64_t>::max());

}  // namespace rowhouse
