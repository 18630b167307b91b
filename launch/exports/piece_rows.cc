#include "launch/exports/piece_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <span>

#include "common/kernels/quantised_rows.h"

namespace rowhouse {

PieceRows::PieceRows(const std::vector<const MatrixRows*>& files) : tables_(files.size()) {
  for (size_t t = 0; t < files.size(); ++t) tables_[t].file = files[t];
}

bool PieceRows::reads_files() const {
  return std::ranges::any_of(tables_, [](const Table& table) { return table.file != nullptr; });
}

void PieceRows::Clear() {
  for (Table& table : tables_) table.rows.clear();
}

void PieceRows::Add(const std::vector<RowBatch>& batches) {
  for (const RowBatch& batch : batches) {
    Table& table = tables_[Raw(batch.table)];
    if (table.file == nullptr) continue;
    table.rows.insert(table.rows.end(), batch.rows.begin(), batch.rows.end());
  }
}

Status PieceRows::ReadFiles() {
  for (Table& table : tables_) {
    if (table.rows.empty()) continue;
    std::ranges::sort(table.rows);
    table.rows.erase(std::unique(table.rows.begin(), table.rows.end()), table.rows.end());
    table.stored.resize(table.rows.size() * table.file->row_bytes());
    RETURN_IF_ERROR(table.file->Read(table.rows, table.stored));
  }
  return OkStatus();
}

void PieceRows::Copy(RowBatch* batch) const {
  const Table& table = tables_[Raw(batch->table)];
  const size_t bytes = table.file->row_bytes();
  auto at = table.rows.begin();
  for (size_t r = 0; r < batch->rows.size(); ++r) {
    at = std::lower_bound(at, table.rows.end(), batch->rows[r]);
    CHECK(at != table.rows.end() && *at == batch->rows[r]);
    const auto place = static_cast<size_t>(at - table.rows.begin());
    DequantiseRows(table.file->bits(), std::span(table.stored).subspan(place * bytes, bytes),
                   batch->dim, std::span(batch->values).subspan(r * batch->dim, batch->dim));
  }
}

Status PieceRows::Read(std::vector<RowBatch>* rows, std::vector<BagBatch>*) {
  for (RowBatch& batch : *rows) {
    if (!batch.rows.empty()) Copy(&batch);
  }
  return OkStatus();
}

}  // namespace rowhouse
