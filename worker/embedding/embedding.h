// EmbeddingLayer: bags of ids to the vectors that the model takes, and back, for tables of every
// kind (sharding/tables/table_kind.h). Somebody else fetches the rows.
//
// A step: Prepare(features) turns ids into physical rows and merges repeated ones, so that each row
// crosses the wire once; the caller fills the values of row_batches() and the pooled vectors of
// bag_batches(); RowsArrived(); then, for all samples or range by range, Forward of each feature
// and Backward of each feature in the same order.
//
// The vector of a bag is the sum of what the branches of its feature give (branch.h), in their
// order. Gradients of a row are summed in the order (range of samples, feature, branch, part,
// sample, position in the bag).
// Threads: one; products use the OpenMP threads that the process was given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_parameters.h"
#include "worker/embedding/batch_lookups.h"
#include "worker/embedding/branch.h"
#include "worker/embedding/row_batch.h"
#include "worker/embedding/slices.h"

namespace rowhouse {

class EmbeddingLayer {
 public:
  // Adds the projections of kinds that have one to `dense`, as blocks "<table>.projection" (or as
  // the group says) of out_width x width, in feature order. `dense` outlives the layer.
  // `pools_on_shards`: for each physical table, whether shards pool its bags (Plan); empty: no.
  EmbeddingLayer(const EmbeddingTables& tables, DenseParameters* dense,
                 const std::vector<bool>& pools_on_shards = {});
  EmbeddingLayer(const EmbeddingLayer&) = delete;
  EmbeddingLayer& operator=(const EmbeddingLayer&) = delete;

  // Takes a batch's bags, one Bags for each feature of the data. kUsage, naming table, sample and
  // id, if an id is >= rows of a table whose bad_ids is "error", or if weights come with a pooling
  // other than sum; then everything is as before the call.
  Status Prepare(const std::vector<Bags>& features);

  // For models that are not trained: lookups of the table read `rows`, all of its rows, where they
  // lie, and its row batch stays empty. They outlive the layer. Requires fewer than 2^32 rows and
  // no max_norm, as nobody may change them; Backward must not be called.
  void ReadFrom(TableId table, const RowsView& rows);

  // One for each physical table, in their order. Prepare fills rows and counts and sizes values.
  std::vector<RowBatch>& row_batches() { return lookups_.batches(); }
  const std::vector<RowBatch>& row_batches() const { return lookups_.batches(); }

  // The bags that shards pool: one for each part of each feature whose table they pool, in that
  // order; row_batches() have no rows of those tables. Prepare fills what they look up.
  std::vector<BagBatch>& bag_batches() { return bag_batches_; }
  const std::vector<BagBatch>& bag_batches() const { return bag_batches_; }

  // To be called once the values are there: scales rows whose norm exceeds their table's max_norm,
  // as shards do to what they keep. Zeroes the gradients.
  void RowsArrived();

  // out[i * out_width ..] = the vector of sample samples.first + i; an empty bag gives zeros
  // (before projection). Requires out.size() == samples.count * out_width of the feature.
  void Forward(size_t feature, SampleSlice samples, std::span<float> out);

  // `gradient` is that of the last Forward's out of this feature, for the same samples. Adds to the
  // gradients of row_batches(). Overwrites those of the projection's block; but if an earlier
  // feature has the same projection, that feature's Backward has overwritten them, and this adds.
  void Backward(size_t feature, SampleSlice samples, std::span<const float> gradient);

  // Memory of what says which row each lookup means.
  size_t lookup_bytes() const { return lookups_.bytes(); }

  size_t features() const { return tables_.features.size(); }
  uint32_t out_width(size_t feature) const { return tables_.features[feature].out_width(); }

  // The projections: their blocks in the dense parameters, for initial values and freezing.
  struct Projection {
    size_t feature = 0;  // the first that has it
    size_t block = 0;    // number in DenseParameters
  };
  const std::vector<Projection>& projections() const { return projections_; }
  const EmbeddingTables& tables() const { return tables_; }

 private:
  struct Feature {
    std::vector<Branch> branches;
    std::vector<uint32_t> members;  // of each bag: its ids over all branches
  };
  // Ids on their way to the branches; buffers of Prepare.
  struct IdBuffer {
    std::vector<uint32_t> offsets;
    std::vector<uint64_t> ids;
    std::vector<float> weights;

    void Clear();
    ResolvedIds view() const { return {.offsets = offsets, .ids = ids, .weights = weights}; }
  };

  void AddBagBatches(const std::vector<bool>& pools_on_shards);
  void AddBranches(size_t feature, const std::vector<bool>& pools_on_shards, BagBatch** next_bags);
  Branch::Projection ProjectionOf(size_t feature, const IdGroup& group);
  Status CheckBags(size_t feature, const Bags& bags) const;
  ResolvedIds KeepIds(size_t feature, const Bags& bags);
  void Assign(size_t feature, const ResolvedIds& ids);

  const EmbeddingTables tables_;
  BatchLookups lookups_;
  BranchContext context_;
  std::vector<BagBatch> bag_batches_;  // branches point to them
  std::vector<Projection> projections_;
  std::vector<Feature> features_;

  IdBuffer kept_, of_branch_;
  std::vector<uint32_t> groups_of_ids_;
  std::vector<float> branch_out_;
};

}  // namespace rowhouse
