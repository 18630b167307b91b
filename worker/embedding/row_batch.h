// What a step reads and updates of one physical table: distinct rows, and bags that shards pool.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "common/kernels/embedding_bag.h"
#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

// The distinct rows, with their values (after the pull) and their summed gradients (before the
// push).
struct RowBatch {
  TableId table{};
  uint32_t dim = 0;
  bool trains = true;            // false: a frozen table; its rows are not pushed
  std::vector<RowId> rows;       // unique, ascending
  std::vector<uint32_t> counts;  // lookups of each row in this batch, at least 1
  std::vector<float> values;     // rows x dim, filled by the pull
  std::vector<float> gradients;  // rows x dim, filled by the backward pass
};

// The bags of one feature in one physical table that shards pool (Plan::pools_on_shards),
// with their pooled vectors (after the pull) and gradients (before the push). Their rows do not
// cross the wire.
struct BagBatch {
  TableId table{};
  uint32_t dim = 0;
  uint64_t table_rows = 0;
  Pooling pooling = Pooling::kSum;  // of a mean, shards pool the sum and the worker divides
  bool exact = false;               // the table has pooling_sum "exact"
  bool trains = true;               // false: a frozen table; its bags are not pushed
  std::vector<uint32_t> offsets;    // bags + 1; bag b is rows[offsets[b] .. offsets[b + 1])
  std::vector<uint64_t> rows;       // physical row of each lookup
  std::vector<float> weights;       // of each lookup, or empty; with pooling sum only
  std::vector<float> pooled;        // bags x dim, filled by the pull
  std::vector<uint32_t> winners;    // pooling max: bags x dim, places in `rows`, or kNoWinner
  std::vector<float> gradients;     // bags x dim: of each lookup of the bag, before its weight

  size_t bags() const { return offsets.size() - 1; }
};

// RowSource: where the rows of a batch come from when a model is only evaluated: the shards of a
// run, the files of a saved model, tables in memory.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Writes the values of every row of `rows`, the pooled vectors of every bag of `bags` and, for
  // bags with pooling max, their winners. Blocks until they are there. A row that no step has
  // updated has its initial value. Changes nothing at the source: no row is created, counted as
  // accessed, or brought into a cache.
  //
  // The batches are as EmbeddingLayer::Prepare leaves them. A source that cannot pool is used with
  // an EmbeddingLayer that pools every bag itself, so that `bags` is empty.
  //
  // On an error the values are undefined. Threads: one call at a time.
  virtual Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) = 0;
};

}  // namespace rowhouse
