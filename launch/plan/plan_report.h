// What `rowhouse plan` says of a plan, of access counts and of a trace.
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/figures/figures.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/trace_summary.h"
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

// A line for each table, and for each feature; miss ratios by cache size on a page.
Figures TraceFigures(const TraceSummary& summary);

}  // namespace rowhouse
