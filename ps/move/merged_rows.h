// MergedRows: the rows of a range that lie in several stores, in the order of their numbers, each
// with all of its records, wherever they lie.
//
// Threads: one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/status.h"
#include "ps/move/record_routing.h"
#include "ps/store/row_store.h"

namespace rowhouse {

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
