// What a plan moves in a step, for people and scripts: sharding/plans/plan_traffic.h for a run's
// settings. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "launch/settings/settings.h"
#include "sharding/plans/plan_traffic.h"

namespace rowhouse {

// Samples of a step, the mean length of bags and the spread of ids as the data source makes them;
// of files, which nobody has read yet, bags of one id, spread evenly. Requires settings that are
// Complete().
StepShape StepShapeOf(const Settings& settings, uint32_t workers);

// A line a table: lookups and distinct rows a step, bytes by merged rows and by bags, which of them
// is less, and which the plan has.
std::string TrafficText(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic);

// Sentences, each ended by a newline, for an operator who would like to know that another pool_on
// moves less: tables whose bags the shards pool although merged rows move less, and tables whose
// rows are pulled although bags would move less than half. "": nothing to say.
std::string TrafficHints(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic);

// [{name, pool_on, lookups, distinct_rows, by_rows, by_bags}]; by_bags null where shards cannot
// pool.
nlohmann::ordered_json TrafficToJson(const EmbeddingTables& tables,
                                     const std::vector<TableTraffic>& traffic);

}  // namespace rowhouse
