// What a model's rows take in bytes, by arithmetic alone: nothing is allocated or opened.
//
// All rows count as pushed (a row that never was is not stored). Sums saturate at 2^64 - 1.
// Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

// ---- A model's tables ---------------------------------------------------------------------------

struct TableBytes {
  uint64_t rows = 0;      // weights
  uint64_t state = 0;     // of the optimizer; 0 of a frozen table
  uint64_t trailers = 0;  // 16 a row that is stored on a shard (sharding/rows/record.h)

  uint64_t total() const;
  TableBytes& operator+=(const TableBytes& other);
  bool operator==(const TableBytes&) const = default;
};

// `on_workers` tables are parameters of every worker; their bytes are those of one of them. Like
// all below, requires names of optimizers that exist.
TableBytes BytesOfTable(const TableSpec& table, bool on_workers, bool is_frozen);

// One logical table. What several logical tables share counts in full for each of them here, and
// once in ModelSizes.
struct LogicalTableSizes {
  uint64_t physical_rows = 0;  // over its physical tables, except that of learned weights
  TableBytes bytes;            // with those of learned weights
  uint64_t projection = 0;     // bytes of the workers' projections; 0: none
  uint64_t plain_rows = 0;     // bytes of rows if its kind were plain
  uint64_t lookup = 0;         // bytes of the rows that one id reads, in the group with the most

  // Bytes of rows and projection over those of a plain table.
  double of_plain() const;
};

struct ModelSizes {
  std::vector<LogicalTableSizes> tables;  // one a feature
  std::vector<TableBytes> physical;       // one a physical table
  TableBytes bytes;                       // over physical tables, each once
  uint64_t projections = 0;               // of all features, each once
  uint64_t plain_rows = 0;                // over features: sharing is compression, too
  uint64_t lookup = 0;                    // bytes of rows that a sample reads, one id a feature

  // Bytes of the weights of embedding: rows and projections.
  uint64_t rows_and_projections() const;
  double of_plain() const;
};

ModelSizes SizesOf(const EmbeddingTables& tables);

// Bytes of weights over all physical tables if every row were quantised (QuantisedRowBytes).
uint64_t QuantisedBytes(const EmbeddingTables& tables, uint32_t bits);

// Bytes of weights on the fullest shard, for three ways to divide every table that lies on shards:
// by rows; by columns; by rows, with each piece kept as a block table (SplitIntoBlocks).
struct ShardBytes {
  uint64_t by_rows = 0;
  uint64_t by_columns = 0;
  uint64_t as_blocks = 0;
};
ShardBytes FullestShard(const EmbeddingTables& tables, uint32_t shards);

// ---- The largest vocabulary -------------------------------------------------------------------

struct LargestTable {
  // How many ids fit; 0: not even one; nothing: any number.
  std::optional<uint64_t> ids;
  uint64_t physical_rows = 0;
  uint64_t bytes = 0;  // of rows, state, trailers and projection
};

// The largest table of `like`'s kind, options, dim and optimizer that takes at most memory_bytes,
// projection included; like.rows does not matter. Of a kind whose ids share rows
// (KindDeclaration::rows_option) it is the one with most rows. Assumes that more ids never take
// fewer bytes. kUsage if the kind refuses a table of one row.
Result<LargestTable> LargestVocabulary(LogicalTable like, uint64_t memory_bytes);

// ---- Sizes by formula -------------------------------------------------------------------------

// Bytes of weights in a cache of `sets` sets of `lines` rows each.
uint64_t CacheBytes(uint64_t sets, uint64_t lines, uint32_t dim, uint32_t element_bytes = 4);

// Rows in the cache of a table (hpcaitech's CachedEmbedding), ratio in [0, 1]: floor(rows * ratio).
uint64_t CachedRows(uint64_t rows, double ratio);

// A row of `bits`-bit codes and its scale and bias, which are f32 beside 8-bit codes and f16 beside
// narrower ones (FBGEMM's quantised rows). 8 bits: dim + 8; 4 and 2: ceil(dim * bits / 8) + 4.
// Requires bits of 8, 4 or 2.
uint64_t QuantisedRowBytes(uint32_t bits, uint32_t dim);

// Bytes of weights on rank `rank`, if a table is divided by rows or by columns as numpy's
// array_split does: pieces differ by one at most, larger ones first. Requires rank < ranks.
uint64_t RowSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank);
uint64_t ColumnSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank);

// A table divided by rows, each rank's piece kept as a block table of dim / ranks columns with a
// projection of its own (hpcaitech's ParallelMixVocabEmbeddingBag). In floats, with the original's
// whole-number divisions.
struct BlockSplit {
  uint64_t per_rank = 0;  // rows and projection
  int64_t saved = 0;      // over all ranks, against division by rows alone
};
BlockSplit SplitIntoBlocks(uint64_t rows, uint32_t dim, uint32_t ranks);

}  // namespace rowhouse
