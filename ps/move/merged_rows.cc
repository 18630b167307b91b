#include "ps/move/merged_rows.h"

#include <algorithm>
#include <tuple>

namespace rowhouse {

bool MergedRows::IsAfter(const std::unique_ptr<RowCursor>& a, const std::unique_ptr<RowCursor>& b) {
  return std::tuple(a->row(), a->first_column()) > std::tuple(b->row(), b->first_column());
}

Result<MergedRows> MergedRows::Open(std::span<const RowStore* const> stores,
                                    const RowRange& range) {
  MergedRows rows;
  rows.table_ = range.table;
  for (const RowStore* store : stores) {
    ASSIGN_OR_RETURN(std::unique_ptr<RowCursor> cursor, store->Cursor(range));
    RETURN_IF_ERROR(cursor->status());
    if (cursor->IsValid()) rows.cursors_.push_back(std::move(cursor));
  }
  std::ranges::make_heap(rows.cursors_, IsAfter);
  RETURN_IF_ERROR(rows.Next());
  return rows;
}

Status MergedRows::Next() {
  used_ = 0;
  while (!cursors_.empty() && (used_ == 0 || cursors_.front()->row() == row_)) {
    std::ranges::pop_heap(cursors_, IsAfter);
    RowCursor& first = *cursors_.back();
    row_ = first.row();
    if (used_ > 0 && pieces_[used_ - 1].first_column == first.first_column()) {
      return CorruptionError("row {} of table {}, column {}, lies in two stores", Raw(row_),
                             Raw(table_), first.first_column());
    }
    if (used_ == pieces_.size()) pieces_.emplace_back();
    RecordRouting::Piece& piece = pieces_[used_++];
    piece.first_column = first.first_column();
    piece.record.assign(first.record().begin(), first.record().end());
    first.Next();
    RETURN_IF_ERROR(first.status());
    if (first.IsValid()) {
      std::ranges::push_heap(cursors_, IsAfter);
    } else {
      cursors_.pop_back();
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
