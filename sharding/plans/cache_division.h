// How a shard's bytes for cached rows are divided among its slices when it opens. What the plan
// says comes first (TablePlacement::cache_share); the rest is dealt equally. Later the bytes move
// to where they save most misses (ps/cache/cache_ledger.h). The shard, the estimate of its memory
// and the cost model divide by the same function.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/types.h"

namespace rowhouse {

// The shares of the budget, one for each entry of `wanted`: equal shares, but what an entry does
// not want of its share is divided equally among the entries that want more than theirs.
std::vector<uint64_t> EqualShares(const std::vector<uint64_t>& wanted, uint64_t budget);

struct CachedSlice {
  TableId table{};
  uint64_t bytes = 0;  // of all its records; it wants no more
  // Of the budget, for all slices of the table here together; [0, 1], over all tables at most 1.
  // nullopt: the plan does not say.
  std::optional<double> table_share = std::nullopt;
};

// Bytes of each slice of one shard. A table's share is dealt to its slices by their bytes. What
// shares leave goes to the tables without one, by EqualShares; what these do not want either, to
// all that want more, likewise. Without any share this is EqualShares.
std::vector<uint64_t> DivideCache(const std::vector<CachedSlice>& slices, uint64_t budget);

}  // namespace rowhouse
