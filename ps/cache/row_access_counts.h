// RowAccessCounts: how often each row of a table is looked up, from a file of access counts
// (sharding/plans/access_counts.h): exact for the hottest rows, the mean of their range for others.
// Policy `dataset` ranks rows by it, and a cache can begin with the hottest rows.
//
// Threads: const after construction; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/types.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

class RowAccessCounts {
 public:
  explicit RowAccessCounts(const TableAccesses& accesses);

  // Expected lookups, in the file's unit. 0 for a row beyond the counted table.
  double Of(RowId row) const;

  // At most `most` rows of [begin, end) for which is_wanted holds, with their lookups; by falling
  // lookups, then row. Rows that were never looked up come last.
  std::vector<std::pair<RowId, uint64_t>> Hottest(
      uint64_t most, uint64_t begin, uint64_t end,
      const std::function<bool(RowId)>& is_wanted) const;

 private:
  uint64_t rows_;
  uint64_t range_rows_;
  std::vector<TableAccesses::Row> hottest_;        // by falling count, then row
  std::unordered_map<uint64_t, uint64_t> counts_;  // of the hottest rows
  std::vector<double> means_;                      // of the other rows of each range
};

}  // namespace rowhouse
