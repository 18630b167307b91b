// EmbeddingLayer: bags of ids to pooled vectors and back, over rows somebody else fetches.
//
// A step: Prepare(features) merges repeated ids, so that each row crosses the wire once; the
// caller fills the values of row_batches(); Forward pools; Backward merges gradients by row, in
// (feature, sample, position) order, into the gradients of row_batches().
// Pooling is sum, f32, left to right as in the bag (`pooling_sum: bag_order`, SPEC 1).
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "sharding/table_spec.h"
#include "worker/batch.h"
#include "worker/row_batch.h"
#include "worker/row_merge.h"

namespace rowhouse {

class EmbeddingLayer {
 public:
  // Feature k looks up tables[k].
  explicit EmbeddingLayer(const std::vector<TableSpec>& tables);

  // Takes a batch's bags, one a table. kUsage, naming table, sample and id, if an id is >= rows;
  // then everything is as before the call.
  Status Prepare(const std::vector<Bags>& features);

  // One a table, in table order. Prepare fills rows and counts and sizes values.
  std::vector<RowBatch>& row_batches() { return row_batches_; }

  // out[s * dim ..] = sum of the rows of bag s; an empty bag gives zeros.
  // Requires out.size() == samples * dim of feature k's table.
  void Forward(size_t feature, std::span<float> out) const;

  // Same shape as Forward's out: overwrites the gradients of feature k's rows with the sums of
  // their lookups' gradients. Once a feature and step.
  void Backward(size_t feature, std::span<const float> gradient);

 private:
  struct Lookup {
    std::vector<uint32_t> offsets;  // samples + 1
    std::vector<uint32_t> slots;    // position in row_batches_[k].rows of each lookup
  };
  std::vector<TableSpec> tables_;
  RowMerge merge_;
  std::vector<RowBatch> row_batches_;
  std::vector<Lookup> lookups_;
};

}  // namespace rowhouse
