// The traffic of a run's plan (sharding/lab/traffic/step_traffic.h) as text and JSON. Threads: pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "launch/figures/figures.h"
#include "launch/settings/settings.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

// Samples of a step, mean lengths of bags and Zipf's exponent of the data source; for files, which
// are not read, bags of one id, all ids alike. Requires settings that are Complete().
StepShape StepShapeOf(const Settings& settings, uint32_t workers);

// For each table lookups and distinct rows a step, bytes by merged rows and by bags, the smaller of
// the two, and the plan's choice. As JSON [{name, lookups, distinct_rows, by_rows, by_bags,
// pool_on}]; by_bags is null if shards cannot pool.
FigureTable TrafficTable(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic);
std::string TrafficText(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic);

// Up to two lines, on tables for which another pool_on moves less: one on tables that shards pool
// although merged rows are fewer bytes, and one on tables that workers pool although bags are less
// than half the bytes. "" if there are none.
std::string TrafficHints(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic);

}  // namespace rowhouse
