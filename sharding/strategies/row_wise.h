// Row-wise contiguous sharding: every table is cut into as many pieces of equal size as there are
// shards (torchrec's ROW_WISE; SPEC 3.1 without its remainder defect).
#pragma once

#include <vector>

#include "sharding/plan.h"

namespace rowhouse {

// Piece p of table t holds rows [p*n/S, (p+1)*n/S) and goes to shard (p + t) mod S, so that the
// first, often hottest, rows of different tables do not all meet on one shard. Tables with fewer
// rows than shards leave some shards without a piece. Tables for which on_workers is true (one
// value a table, or none) live on the workers instead. Requires shards > 0 and valid tables.
Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers = {});

}  // namespace rowhouse
