// What `rowhouse plan` prints of a plan and of access counts.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/prediction/id_counting.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan_file.h"

namespace rowhouse {

// A line for each shard: PS node, bytes, rows, slices and, unless `accesses` is null, its share of
// all accesses; the largest over the mean, by shard and by PS node; and what is on the workers.
std::string PlanText(const PlanFile& file, const std::vector<TableSpec>& tables,
                     const AccessCounts* accesses);

// A line for each table: rows, lookups, rows touched, the shares of the hottest 1 % and 0.1 % of
// its rows, and the hottest rows.
std::string IdCountsText(const IdCounts& counts);

}  // namespace rowhouse
