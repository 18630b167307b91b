// BatchLookups: every row that a batch looks up, table by table, and which of the distinct rows
// each lookup means. Branches add their lookups; then repeated rows are merged, so that each row
// crosses the wire once. Threads: one. Keeps its memory from batch to batch.
//
// A table that is whole in memory needs none of this: its lookups are read where they lie
// (ReadFrom). Only models that are not trained have such tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/kernels/bag_kernels.h"
#include "common/types.h"
#include "sharding/rows/row_merge.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class BatchLookups {
 public:
  explicit BatchLookups(const EmbeddingTables& tables);

  // From the next Merge on, lookups of the table read `rows`, all of its rows, and its batch has
  // none. They outlive this object. Requires fewer than 2^32 rows.
  void ReadFrom(TableId table, const RowsView& rows) { whole_[Raw(table)] = rows; }

  // A new batch: there are no lookups.
  void Clear();

  // Adds `count` lookups of a physical table; the caller writes their rows, before the next call.
  // *first: number of the first of them, for Slots.
  std::span<uint64_t> Add(TableId table, size_t count, size_t* first);

  // To be called after the last Add: fills rows and counts of batches() and makes room for values.
  void Merge();

  // Of lookups [first, first + count) of the table: their rows' places in values(table).
  std::span<const uint32_t> Slots(TableId table, size_t first, size_t count) const {
    return std::span(slots_[Raw(table)]).subspan(first, count);
  }

  // By place: those of rows(table), or the whole table.
  RowsView values(TableId table) const {
    const RowsView& whole = whole_[Raw(table)];
    return whole.bytes.data() != nullptr ? whole : RowsView(batches_[Raw(table)].values);
  }

  // Memory of lookups and their slots.
  size_t bytes() const {
    size_t all = 0;
    for (const std::vector<uint64_t>& rows : lookups_) all += rows.capacity() * sizeof(uint64_t);
    for (const std::vector<uint32_t>& slots : slots_) all += slots.capacity() * sizeof(uint32_t);
    return all;
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
  std::vector<RowsView> whole_;  // of each physical table; null: it is merged
};

}  // namespace rowhouse
