// Counted accesses of a model's physical tables: falling with the row's number, as if ids were
// ranks.
#pragma once

#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

inline AccessCounts CountsByRank(const std::vector<TableSpec>& tables) {
  AccessCounts counts;
  for (const TableSpec& table : tables) {
    AccessCounter counter(table.name, table.rows);
    for (uint64_t row = 0; row < table.rows && row < 10000; ++row) {
      counter.Add(row, 10000 / (row + 1));
    }
    counts.tables.push_back(counter.Finish());
  }
  return counts;
}

}  // namespace rowhouse
