#include "ps/move/record_routing.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// Columns [from, from + columns) of one record become columns [to, to + columns) of another.
void CopyColumns(const StateShape& state, const RecordLayout& source, const std::byte* from_record,
                 uint32_t from, const RecordLayout& target, std::byte* to_record, uint32_t to,
                 uint32_t columns) {
  const size_t weight = BytesOfWeight(source.precision);
  std::memcpy(to_record + to * weight, from_record + from * weight, columns * weight);
  const std::span<const float> from_state = source.state(from_record);
  const std::span<float> to_state = target.state(to_record);
  for (uint32_t plane = 0; plane < state.planes; ++plane) {
    std::memcpy(to_state.data() + size_t{plane} * target.dim + to,
                from_state.data() + size_t{plane} * source.dim + from, columns * sizeof(float));
  }
}

// State of the whole row, of which every slice has the same copy, and the trailer.
void CopyRest(const StateShape& state, const RecordLayout& source, const std::byte* from,
              const RecordLayout& target, std::byte* to) {
  const std::span<const float> of_row = source.state(from).last(state.row_floats);
  std::ranges::copy(of_row, target.state(to).last(state.row_floats).begin());
  target.set_trailer(to, source.trailer(from));
}

}  // namespace

RecordRouting::RecordRouting(const std::vector<TableSpec>& tables, const Plan& plan) : plan_(plan) {
  for (const TableSpec& spec : tables) {
    Table table{.spec = &spec,
                .optimizer = Optimizers().Make(spec.optimizer, spec.optimizer_options).value(),
                .state = {},
                .layouts = {},
                .whole = {}};
    table.state = StateShapeOf(*table.optimizer);
    table.whole = LayoutOf(spec, *table.optimizer);
    for (const Slice& slice : plan.slices(spec.id)) {
      table.layouts.push_back(LayoutOf(spec, *table.optimizer, slice.columns()));
    }
    tables_.push_back(std::move(table));
  }
}

std::span<const Slice> RecordRouting::CutsOf(TableId table, RowId row) const {
  const std::span<const Slice> slices = plan_.slices(table);
  const uint64_t position = plan_.order(table).PositionOf(row);
  const auto end = std::ranges::upper_bound(slices, position, {}, &Slice::row_begin);
  const auto begin = std::ranges::lower_bound(slices, (end - 1)->row_begin, {}, &Slice::row_begin);
  return {begin, end};
}

const Slice& RecordRouting::SliceOf(TableId table, RowId row, uint16_t first_column) const {
  const std::span<const Slice> cuts = CutsOf(table, row);
  return *(std::ranges::upper_bound(cuts, first_column, {}, &Slice::column_begin) - 1);
}

Status RecordRouting::Route(TableId id, RowId row, std::span<const Piece> pieces,
                            const Give& give) {
  if (Raw(id) >= tables_.size() || Raw(row) >= tables_[Raw(id)].spec->rows) {
    return CorruptionError("row {} of table {} is there, which no table of the model has", Raw(row),
                           Raw(id));
  }
  const Table& table = tables_[Raw(id)];
  const std::span<const Slice> cuts = CutsOf(id, row);
  const size_t first = cuts.data() - plan_.slices(id).data();
  bool is_cut_alike = pieces.size() == cuts.size();
  for (size_t i = 0; is_cut_alike && i < cuts.size(); ++i) {
    is_cut_alike = pieces[i].first_column == cuts[i].column_begin &&
                   pieces[i].record.size() == table.layouts[first + i].bytes();
  }
  if (!is_cut_alike) RETURN_IF_ERROR(Join(table, row, pieces));
  for (size_t i = 0; i < cuts.size(); ++i) {
    const RecordLayout& layout = table.layouts[first + i];
    if (is_cut_alike) {
      RETURN_IF_ERROR(give(cuts[i], layout, pieces[i].record));
      continue;
    }
    Cut(table, cuts[i], layout);
    RETURN_IF_ERROR(give(cuts[i], layout, std::as_bytes(std::span(cut_)).first(layout.bytes())));
  }
  return OkStatus();
}

void RecordRouting::AddTo(RowsDigest* digest, const DigestedTable& digested, TableId id, RowId row,
                          std::span<const Piece> pieces) const {
  const Table& table = tables_[Raw(id)];
  for (const Piece& piece : pieces) {
    const std::optional<RecordLayout> layout =
        LayoutOfRecord(*table.spec, *table.optimizer, piece.first_column, piece.record.size());
    if (!layout) continue;  // Route refuses it.
    digest->Add(digested, row, piece.first_column, *layout, piece.record.data());
  }
}

Status RecordRouting::Join(const Table& table, RowId row, std::span<const Piece> pieces) {
  joined_.assign(table.whole.bytes() / sizeof(float), 0.0f);
  auto* const whole = reinterpret_cast<std::byte*>(joined_.data());
  RecordTrailer trailer;
  uint32_t column = 0;
  for (const Piece& piece : pieces) {
    const std::optional<RecordLayout> layout =
        LayoutOfRecord(*table.spec, *table.optimizer, piece.first_column, piece.record.size());
    if (!layout || piece.first_column != column) break;
    const std::byte* record = piece.record.data();
    CopyColumns(table.state, *layout, record, 0, table.whole, whole, column, layout->dim);
    CopyRest(table.state, *layout, record, table.whole, whole);
    const RecordTrailer its = layout->trailer(record);
    trailer.lsn = std::max(trailer.lsn, its.lsn);
    trailer.last_step = std::max(trailer.last_step, its.last_step);
    trailer.frequency = std::max(trailer.frequency, its.frequency);
    column += layout->dim;
  }
  if (column != table.spec->dim) {
    return CorruptionError(
        "row {} of table \"{}\" has no record from column {} on that fits its {} columns", Raw(row),
        table.spec->name, column, table.spec->dim);
  }
  table.whole.set_trailer(whole, trailer);
  return OkStatus();
}

void RecordRouting::Cut(const Table& table, const Slice& slice, const RecordLayout& layout) {
  cut_.assign(layout.bytes() / sizeof(float), 0.0f);
  auto* const cut = reinterpret_cast<std::byte*>(cut_.data());
  const auto* whole = reinterpret_cast<const std::byte*>(joined_.data());
  CopyColumns(table.state, table.whole, whole, slice.column_begin, layout, cut, 0, slice.columns());
  CopyRest(table.state, table.whole, whole, layout, cut);
}

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
