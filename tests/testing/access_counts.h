// Access counts of a model's physical tables: the higher a row's number, the fewer its accesses.
#pragma once

#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/rows/table_spec.h"

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
