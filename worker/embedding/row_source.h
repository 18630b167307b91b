// RowSource: where the rows of a batch come from when a model is only evaluated: the shards of a
// run, the files of a saved model, tables in memory.
#pragma once

#include <vector>

#include "common/status.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

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
