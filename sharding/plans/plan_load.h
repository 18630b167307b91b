// What a plan gives each shard to hold and to do, by arithmetic.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct ShardLoad {
  double bytes = 0;  // of records: weights, state and trailers, if every row is touched
  double rows = 0;   // a row whose columns are cut counts for each of its pieces
  uint64_t slices = 0;
  double accesses = 0;  // counted, of those rows and pieces
};

struct PlanLoad {
  std::vector<ShardLoad> shards;
  ShardLoad workers;  // of each worker: whole tables (each a slice) and single rows
};

// `accesses`: null, or counts of tables by name; a table that was not counted has none. Between the
// rows whose count is known, a range's accesses are spread evenly, and where a table's order is
// scattered, the table's.
PlanLoad LoadOf(const std::vector<TableSpec>& tables, const Plan& plan,
                const AccessCounts* accesses);

// The largest over the mean; 1 where all are 0. Requires values.
double MaxOverMean(const std::vector<double>& values);

}  // namespace rowhouse
