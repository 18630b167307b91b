// A plan, and counts of accesses, for a terminal: what `rowhouse plan` prints.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/plan/id_counting.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan_file.h"

namespace rowhouse {

// A line a shard: PS node, bytes, rows, slices and, where they were counted (`accesses` is not
// null), its share of all accesses; the largest over the mean, by shard and by PS node; and what
// lives on the workers.
std::string PlanText(const PlanFile& file, const std::vector<TableSpec>& tables,
                     const AccessCounts* accesses);

// A line a table: rows, lookups, rows touched, the shares of the top 1 % and 0.1 % of its rows, and
// the hottest rows.
std::string IdCountsText(const IdCounts& counts);

}  // namespace rowhouse
