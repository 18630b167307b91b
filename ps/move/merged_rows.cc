#include "ps/move/merged_rows.h"

#include <algorithm>
#include <tuple>

namespace rowhouse {

bool MergedRows::IsAfter(const StoreCursor& a, const StoreCursor& b) {
  return std::tuple(a.at->row(), a.at->first_column()) >
         std::tuple(b.at->row(), b.at->first_column());
}

Result<MergedRows> MergedRows::Open(std::span<const RowStore* const> stores,
                                    const RowRange& range) {
  MergedRows rows;
  rows.table_ = range.table;
  for (size_t i = 0; i < stores.size(); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<RowCursor> cursor, stores[i]->Cursor(range));
    RETURN_IF_ERROR(cursor->status());
    if (cursor->IsValid()) rows.cursors_.push_back({.at = std::move(cursor), .store = i});
  }
  std::ranges::make_heap(rows.cursors_, IsAfter);
  RETURN_IF_ERROR(rows.Next());
  return rows;
}

Status MergedRows::Next() {
  used_ = 0;
  while (!cursors_.empty() && (used_ == 0 || cursors_.front().at->row() == row_)) {
    std::ranges::pop_heap(cursors_, IsAfter);
    RowCursor& first = *cursors_.back().at;
    row_ = first.row();
    if (used_ > 0 && pieces_[used_ - 1].first_column == first.first_column()) {
      return CorruptionError("row {} of table {}, column {}, lies in two stores", Raw(row_),
                             Raw(table_), first.first_column());
    }
    if (used_ == pieces_.size()) pieces_.emplace_back();
    RecordRouting::Piece& piece = pieces_[used_++];
    piece.first_column = first.first_column();
    piece.store = cursors_.back().store;
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
