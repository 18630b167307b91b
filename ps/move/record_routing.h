// RecordRouting: the stored records of a row, as one plan cuts them, become those of another plan:
// copied where the cuts are the same, else joined and cut anew. No bit of a weight or of optimizer
// state changes.
//
// Threads: one a RecordRouting.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/rows/rows_digest.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

class RecordRouting {
 public:
  // Both must outlive this. Requires valid tables with known optimizers.
  RecordRouting(const std::vector<TableSpec>& tables, const Plan& plan);

  // Columns [first_column, ...) of a row.
  struct Piece {
    uint16_t first_column = 0;
    std::vector<std::byte> record;
    size_t store = 0;  // where it was read (MergedRows)
  };
  // Calls give(slice, layout, record) for each of the plan's slices that holds columns of the row.
  // `pieces`: all records of the row, by ascending column. kCorruption, naming table and row, if
  // they are not the whole row, or not of a size that the table's records have. A record that is
  // copied is given as the piece that it is.
  using Give = std::function<Status(const Slice&, const RecordLayout&, std::span<const std::byte>)>;
  Status Route(TableId table, RowId row, std::span<const Piece> pieces, const Give& give);

  // Adds the row to a digest, as its records are.
  void AddTo(RowsDigest* digest, const DigestedTable& digested, TableId table, RowId row,
             std::span<const Piece> pieces) const;

  // The slice that holds column `first_column` of a row, for records that are in place already.
  const Slice& SliceOf(TableId table, RowId row, uint16_t first_column) const;

 private:
  struct Table {
    const TableSpec* spec;
    std::unique_ptr<Optimizer> optimizer;
    StateShape state;
    std::vector<RecordLayout> layouts;  // of each slice
    RecordLayout whole;
  };
  // The slices that hold the row: of its band.
  std::span<const Slice> CutsOf(TableId table, RowId row) const;
  Status Join(const Table& table, RowId row, std::span<const Piece> pieces);
  // Copies columns of the joined row to cut_.
  void Cut(const Table& table, const Slice& slice, const RecordLayout& layout);

  const Plan& plan_;
  std::vector<Table> tables_;
  std::vector<float> joined_, cut_;  // floats, so that records are aligned
};

// MergedRows: the rows of a range that lie in several stores, in the order of their numbers, each
// with all of its records, wherever they lie.
//
// Threads: one.

class MergedRows {
 public:
  // The stores must outlive this.
  static Result<MergedRows> Open(std::span<const RowStore* const> stores, const RowRange& range);

  bool IsValid() const { return used_ > 0; }
  RowId row() const { return row_; }  // requires IsValid()
  // By ascending column; valid until Next().
  std::span<const RecordRouting::Piece> pieces() const { return std::span(pieces_).first(used_); }
  // kCorruption for a record that lies in two stores.
  Status Next();

 private:
  struct StoreCursor {
    std::unique_ptr<RowCursor> at;
    size_t store = 0;
  };
  // Stores whose next record comes first, as a heap: by row, then column.
  static bool IsAfter(const StoreCursor& a, const StoreCursor& b);

  std::vector<StoreCursor> cursors_;
  TableId table_{};
  RowId row_{};
  std::vector<RecordRouting::Piece> pieces_;  // kept for their memory
  size_t used_ = 0;
};

}  // namespace rowhouse
