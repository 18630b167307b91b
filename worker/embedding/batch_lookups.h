// BatchLookups: every row that a batch looks up, table by table, and which of the distinct rows
// each lookup means. Branches add their lookups; then repeated rows are merged, so that each row
// crosses the wire once. Threads: one. Keeps its memory from batch to batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/types.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/embedding/row_batch.h"
#include "worker/embedding/row_merge.h"

namespace rowhouse {

class BatchLookups {
 public:
  explicit BatchLookups(const EmbeddingTables& tables);

  // A new batch: there are no lookups.
  void Clear();

  // Adds `count` lookups of a physical table; the caller writes their rows, before the next call.
  // *first: number of the first of them, for Slots.
  std::span<uint64_t> Add(TableId table, size_t count, size_t* first);

  // To be called after the last Add: fills rows and counts of batches() and makes room for values.
  void Merge();

  // Of lookups [first, first + count) of the table: their rows' places in rows(table).rows.
  std::span<const uint32_t> Slots(TableId table, size_t first, size_t count) const {
    return std::span(slots_[Raw(table)]).subspan(first, count);
  }

  RowBatch& rows(TableId table) { return batches_[Raw(table)]; }
  const RowBatch& rows(TableId table) const { return batches_[Raw(table)]; }

  // One a physical table, in their order.
  std::vector<RowBatch>& batches() { return batches_; }
  const std::vector<RowBatch>& batches() const { return batches_; }

 private:
  RowMerge merge_;
  std::vector<RowBatch> batches_;
  // Of each physical table: the row of each lookup, and its place among the distinct rows.
  std::vector<std::vector<uint64_t>> lookups_;
  std::vector<std::vector<uint32_t>> slots_;
};

}  // namespace rowhouse
