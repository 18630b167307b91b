// CacheShares: which of the rows that a step pulls are in the shards' caches, under a plan.
//
// The bytes of a node's caches are divided among its shards and their slices as at the start of a
// run: by the plan's cache shares, or else equally, without what a slice does not want
// (sharding/plans/cache_division.h). Threads: pure functions.
#pragma once

#include <vector>

#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

struct CacheShares {
  std::vector<RowShares> tables;     // each physical table, of rows pulled over all workers
  std::vector<double> cached_rows;   // of each physical table, over all shards, at most
  std::vector<double> cached_bytes;  // their records
  std::vector<double> memory_bytes;  // of each shard's caches when they are full
  std::vector<double> record_bytes;  // of each physical table, whole rows
  std::vector<double> shard_bytes;   // of all records of each shard, touched or not
};

// The shares of one table if the shards have slots for `cached_rows` of its rows. Each piece of a
// row that is cut counts as a row.
RowShares RowSharesOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                      TableId table, double cached_rows);

// The largest cache of a PS node, in whole MiB and one at least, that takes at most memory_bytes
// when it is full of whole rows of whichever tables. Columns of rows take somewhat more.
uint64_t CacheWithin(const Workload& workload, uint64_t memory_bytes);

CacheShares CacheSharesOf(const Workload& workload, const Plan& plan, const StepTraffic& traffic,
                          uint32_t shards_per_ps);

}  // namespace rowhouse
