// ModelRows: the rows of a saved model for scoring: whole tables in memory or mapped from an
// export, and the stores of the model for tables that do not fit. The scores are the same, bit for
// bit, wherever rows are.
//
// Rows may be quantised (common/kernels/quantised_rows.h). Then each physical row is quantised as
// it is stored, and whoever looks it up gets the numbers of the quantised row: of a table in memory
// when it is loaded, of one in the stores whenever a row is read, of one that is mapped when it was
// exported. Nothing rounds these numbers to `precision`. A table's max_norm shortens copies of
// them.
//
// Threads: const after Open; Read, and that of pieces, may be called by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/kernels/quantised_rows.h"
#include "common/mutex.h"
#include "common/status.h"
#include "launch/exports/export_index.h"
#include "launch/exports/matrix_rows.h"
#include "launch/exports/piece_rows.h"
#include "launch/model/saved_weights.h"
#include "ps/cache/page_memory.h"
#include "worker/embedding/embedding.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

// The share of the host's memory that tables take unless the operator says otherwise.
inline constexpr double kDefaultMemoryShare = 0.5;

struct ModelRowsOptions {
  SavedWeightsOptions weights;
  Precision precision = Precision::kF32;  // that rows are looked up in (RowPrecision::pull)
  // Of a number. With kFloatBits rows are not quantised, unless they are mapped and were exported
  // so.
  uint32_t bits = kFloatBits;
  // Tables are read into memory, smallest first, while all of them take no more than this.
  uint64_t memory_bytes = UINT64_MAX;
  // A directory that `ckpt export --stored --format=npy` wrote of this model: its tables are mapped
  // instead, all of them, so that they take no memory of their own and processes share their pages.
  // Opening reads them once, to compare them with their digests. "": none.
  std::string mapped;
  // Of a `mapped` larger than memory: its tables are not mapped but read into memory, as
  // memory_bytes says; rows of the others are read in the order of their files (matrix_rows.h),
  // which is for pieces of many samples.
  bool in_file_order = false;
};

// "16", "8", "4", "2"; "": kFloatBits. kUsage, with the known ones.
Result<uint32_t> FindQuantisedBits(const std::string& text);

class ModelRows final : public RowSource {
 public:
  // kUsage for an export of another model, step, treatment of untrained rows or bits, and for a row
  // that cannot be quantised; else the errors of SavedWeights.
  static Result<std::unique_ptr<ModelRows>> Open(const SavedRows& model,
                                                 const ModelRowsOptions& options);
  ~ModelRows() override;

  // Lets the layer read the tables that are whole in memory where they lie.
  void ServeTo(EmbeddingLayer* layer) const;

  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override;

  // A source of the same rows for one thread, which reads those in files for a piece of samples at
  // a time. Any thread. This outlives it.
  std::unique_ptr<PieceRows> MakePiece();

  // out = rows [first, first + out.size() / dim) of the table; of a table in memory as they are
  // looked up, else as they are stored. Any thread.
  Status ReadRange(TableId table, uint64_t first, std::span<float> out);

  uint32_t bits() const { return bits_; }                           // of a number
  uint64_t bytes() const { return memory_bytes_ + mapped_bytes_; }  // of tables in memory or mapped
  // "26 tables in memory (2.05 GiB)", "26 tables in memory in 8 bits (572 MiB), pooled by AVX-512",
  // "3 tables in memory (977 KiB), 1 read from disk as needed"
  std::string Describe() const;

 private:
  struct Mapping;  // of one file
  struct Table {
    std::span<const std::byte> whole;  // all rows; null: in the stores
    PageMemory memory;
    std::unique_ptr<Mapping> mapping;
    std::unique_ptr<MatrixRows> file;  // of a table that is read in its order
  };

  class Piece;

  ModelRows() = default;
  // Rows in files are those of `piece`.
  Status ReadBeside(const PieceRows& piece, std::vector<RowBatch>* rows,
                    std::vector<BagBatch>* bags);
  Status LoadTables(uint64_t memory_bytes);
  std::vector<size_t> SmallestFirst() const;
  Status QuantiseTable(const TableSpec& spec, std::span<std::byte> out) REQUIRES(mutex_);
  Status MapTables(const SavedRows& model, const ModelRowsOptions& options);
  // A table of an export, whose file is as it was written: mapped, in memory, or to be read.
  Status OpenTable(const std::string& path, uint64_t bytes_of_file, const TableSpec& spec,
                   const ModelRowsOptions& options);

  // Replaces the rows of the batch by what they are when quantised.
  Status QuantiseCopies(RowBatch* batch) const;
  // out = rows of a table that is in memory or mapped, from `first` on.
  void CopyRows(const TableSpec& spec, uint64_t first, std::span<float> out) const;

  Precision precision_ = Precision::kF32;
  uint32_t bits_ = kFloatBits;
  std::vector<TableSpec> specs_;
  std::vector<Table> tables_;
  uint64_t memory_bytes_ = 0, mapped_bytes_ = 0;
  bool is_export_ = false;
  Mutex mutex_;
  std::unique_ptr<SavedWeights> weights_ PT_GUARDED_BY(mutex_);  // null: all tables are mapped
};

}  // namespace rowhouse
