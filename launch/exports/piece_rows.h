// PieceRows: the rows that a piece of many samples looks up in files larger than memory, kept as
// they are stored. The piece is read in one pass over the files and scored in small parts, so that
// of all its samples no more than ids and rows are in memory.
//
// Clear(), Add() of each part, ReadFiles(), then Read() of each part again. Threads: one.
#pragma once

#include <cstddef>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "launch/exports/matrix_rows.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class PieceRows : public RowSource {
 public:
  // `files`: of each table; null: its rows are elsewhere. They outlive this.
  explicit PieceRows(const std::vector<const MatrixRows*>& files);

  bool reads_files() const;

  void Clear();  // Keeps the memory.
  // Rows that will be looked up: unique and ascending within a batch.
  void Add(const std::vector<RowBatch>& batches);
  // Reads what was added since Clear(). The errors of MatrixRows::Read.
  Status ReadFiles();

  // batch->values = the rows' numbers. Requires a table in a file and rows that were added.
  void Copy(RowBatch* batch) const;

  // Requires that all rows are in files.
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override;

 private:
  struct Table {
    const MatrixRows* file = nullptr;
    std::vector<RowId> rows;  // unique and ascending, once they are read
    std::vector<std::byte> stored;
  };
  std::vector<Table> tables_;
};

}  // namespace rowhouse
