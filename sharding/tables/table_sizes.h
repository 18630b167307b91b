// What a model's rows take, by arithmetic alone: nothing is allocated, opened or asked for.
//
// Bytes are those of rows that were all pushed (others are not stored). Numbers that do not fit
// saturate: 2^64 - 1 stands for itself and anything more. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

// ---- A model's tables ---------------------------------------------------------------------------

struct TableBytes {
  uint64_t rows = 0;      // weights
  uint64_t state = 0;     // of the optimizer, beside them; none where a table is frozen
  uint64_t trailers = 0;  // 16 a row that is stored on a shard (sharding/rows/record.h)

  uint64_t total() const;
  TableBytes& operator+=(const TableBytes& other);
  bool operator==(const TableBytes&) const = default;
};

// `on_workers` tables are parameters of every worker; their bytes are those of one of them. Like
// all below, requires names of optimizers that exist.
TableBytes BytesOfTable(const TableSpec& table, bool on_workers, bool is_frozen);

// One logical table. What it shares with others is counted in full here, once in ModelSizes.
struct LogicalTableSizes {
  uint64_t physical_rows = 0;  // over its physical tables, without those of learned weights
  TableBytes bytes;            // with those of learned weights
  uint64_t projection = 0;     // bytes of the workers' projections; 0: none
  uint64_t plain_rows = 0;     // bytes of rows if its kind were plain
  uint64_t lookup = 0;         // bytes of rows that one id reads, of the group that reads most

  // What the model keeps of it, by what it would keep if it were plain.
  double of_plain() const;
};

struct ModelSizes {
  std::vector<LogicalTableSizes> tables;  // one a feature
  std::vector<TableBytes> physical;       // one a physical table
  TableBytes bytes;                       // over physical tables, each once
  uint64_t projections = 0;               // of all features, each once
  uint64_t plain_rows = 0;                // over features: sharing is compression, too
  uint64_t lookup = 0;                    // bytes of rows that a sample of one id a feature reads

  // Weights that look ids up: rows and projections.
  uint64_t rows_and_projections() const;
  double of_plain() const;
};

ModelSizes SizesOf(const EmbeddingTables& tables);

// Bytes of weights over all physical tables, were every row quantised (see QuantisedRowBytes).
uint64_t QuantisedBytes(const EmbeddingTables& tables, uint32_t bits);

// Bytes of weights of the tables on shards that the fullest of them has at most, if every table is
// cut by rows; or by columns; or by rows that are then kept as block tables (see SplitIntoBlocks).
struct ShardBytes {
  uint64_t by_rows = 0;
  uint64_t by_columns = 0;
  uint64_t as_blocks = 0;
};
ShardBytes FullestShard(const EmbeddingTables& tables, uint32_t shards);

// ---- The largest vocabulary
// -----------------------------------------------------------------------

struct Vocabulary {
  // The most ids; nothing: any number of them. 0: not even one fits.
  std::optional<uint64_t> ids;
  uint64_t physical_rows = 0;
  uint64_t bytes = 0;  // of rows, state, trailers and projection
};

// The largest table of `like`'s kind, options, dim and optimizer that takes at most memory_bytes,
// projection included; like.rows does not matter. Of a kind with an option "buckets" these are
// searched instead. Asks the kind for layouts of different sizes and takes it that more ids never
// take fewer bytes. kUsage if the kind refuses a table of one row.
Result<Vocabulary> LargestVocabulary(LogicalTable like, uint64_t memory_bytes);

// ---- Sizes by formula
// -----------------------------------------------------------------------------

// Weights in a cache of `sets` sets of `lines` rows each (SPEC 8).
uint64_t CacheBytes(uint64_t sets, uint64_t lines, uint32_t dim, uint32_t element_bytes = 4);

// Rows of a table that a cache of so large a part of it holds, ratio in [0, 1]: the whole part of
// rows * ratio; of the table-wise variant 2000 more, and the whole table at most (SPEC 8).
uint64_t CachedRows(uint64_t rows, double ratio);
uint64_t CachedRowsTableWise(uint64_t rows, double ratio);

// A row of `bits`-bit codes and its scale and bias, which are f32 beside 8-bit codes and f16 beside
// narrower ones (SPEC 17): 8: dim + 8; 4 and 2: ceil(dim * bits / 8) + 4. Requires 8, 4 or 2.
uint64_t QuantisedRowBytes(uint32_t bits, uint32_t dim);

// Bytes of rows on one of `ranks`, if a table is cut by rows or by columns into pieces that differ
// by one at most, the larger ones first (SPEC 9: numpy's array_split). Require rank < ranks.
uint64_t RowSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank);
uint64_t ColumnSplitBytes(uint64_t rows, uint32_t dim, uint32_t ranks, uint32_t rank);

// Cut by rows, each rank's piece kept as a block table of dim / ranks columns with a projection of
// its own (SPEC 9). Floats, with the divisions of whole numbers of the original.
struct BlockSplit {
  uint64_t per_rank = 0;  // rows and projection
  int64_t saved = 0;      // over all ranks, beside a cut by rows
};
BlockSplit SplitIntoBlocks(uint64_t rows, uint32_t dim, uint32_t ranks);

}  // namespace rowhouse
