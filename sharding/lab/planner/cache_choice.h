// CacheChoice: how the caches of a plan's shards are divided among its tables so that the fewest
// rows are read from the store. As the shards divide them when they know the accesses
// (ps/cache/cache_ledger.h), but from the workload, before the run begins.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// Cache shares for Plan::WithCacheShares, one for each physical table. Shares grow, one after the
// other, where the next bytes save most reads, until a shard of the table is full: greedy, which is
// optimal on one shard where curves of hits are concave. Tables on the workers, and tables whose
// shards have room for all their rows, have none. Of the store "memory" nothing is read: none.
std::vector<std::optional<double>> ChooseCacheShares(const Workload& workload, const Plan& plan,
                                                     uint32_t shards_per_ps);

}  // namespace rowhouse
