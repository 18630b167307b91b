// PlanLoad: the bytes, rows and accesses of each shard under a plan, computed without a run.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct ShardLoad {
  double bytes = 0;  // of all its records, as if every row existed
  double rows = 0;   // a row in n slices counts n times
  uint64_t slices = 0;
  double accesses = 0;  // of those rows, by access counts
};

struct PlanLoad {
  std::vector<ShardLoad> shards;
  ShardLoad workers;  // of each worker: whole tables (each a slice) and single rows
};

// `accesses`: null, or counts of tables by name; a table that was not counted has 0. The accesses
// of rows whose own count is unknown are spread evenly over their range or, if the table's order is
// scattered, over the table.
PlanLoad LoadOf(const std::vector<TableSpec>& tables, const Plan& plan,
                const AccessCounts* accesses);

// The largest value over the mean; 1 if all are 0. Requires at least one value.
double MaxOverMean(const std::vector<double>& values);

}  // namespace rowhouse
