// What block tables save, and how far ranks raise the size of a table, by arithmetic alone.
//
// A block table keeps rows of `block_dim` floats and a projection to the full width, which every
// worker has. Parameters of a block table are those of the plain table that it stands for: it has
// as many ids and gives vectors as wide, but stores fewer floats and can express less. Threads:
// any.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

// All plain and block tables of a model as block tables of 1 / `divisor` of their width.
struct BlockSavings {
  uint32_t divisor = 1;
  uint64_t rows_bytes = 0;
  uint64_t projection_bytes = 0;  // of a worker; they are also summed over workers in each step
  uint64_t plain_bytes = 0;       // as plain tables
  uint64_t multiply_adds = 0;     // of a sample, forward; backward takes twice as many

  // Negative where a table has fewer rows than its vectors have floats.
  int64_t saved_bytes() const {
    return static_cast<int64_t>(plain_bytes) - static_cast<int64_t>(rows_bytes + projection_bytes);
  }
};

// For divisors 2, 4, 8, ... as long as a table keeps a float; none if the model has no such table.
std::vector<BlockSavings> BlockSavingsOf(const EmbeddingTables& tables);

// The largest table of `dim` floats a row on ranks that each have room for `floats_a_rank` floats,
// in parameters: l the first, l w the second, and l w^2 the third, less projections and remainders
// of divisions, for w ranks (hpcaitech's CachedEmbedding claims 17.5 to 280 G over 4 ranks).
struct RankLimits {
  uint64_t replicated = 0;  // every rank has all rows
  uint64_t divided = 0;     // every rank has rows / ranks of them
  // Divided, and every rank's piece a block table of dim / ranks floats with a projection of its
  // own (SplitIntoBlocks of table_sizes.h). 0 for more ranks than floats.
  uint64_t as_blocks = 0;
  uint64_t stored_as_blocks = 0;  // floats that exist for it, over all ranks: only l w
};
RankLimits RankLimitsOf(uint64_t floats_a_rank, uint32_t dim, uint32_t ranks);

}  // namespace rowhouse
