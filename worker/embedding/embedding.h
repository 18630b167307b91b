// EmbeddingLayer: bags of ids to the vectors the model takes, and back, over rows somebody else
// fetches, for tables of every kind (sharding/tables/table_kind.h).
//
// A step: Prepare(features) turns ids into physical rows and merges repeated ones, so that each row
// crosses the wire once; the caller fills the values of row_batches(); RowsArrived(); then, for all
// samples or chunk by chunk, Forward of each feature and Backward of each feature in the same
// order. Backward merges gradients by row, in (chunk, feature, part, sample, position) order, into
// the gradients of row_batches() (a feature's parts group by group).
//
// Pooling is f32, left to right as in the bag (`pooling_sum: bag_order`, SPEC 1); a table of more
// parts is combined per id, then pooled, unless its kind says pool_first. Of a table of more groups
// each is pooled and projected on its own; these are added in group order.
// Threads: one; products use the OpenMP threads the process was given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/kernels/embedding_bag.h"
#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/matrix_product.h"
#include "worker/embedding/bag_batch.h"
#include "worker/embedding/row_batch.h"
#include "worker/embedding/row_merge.h"
#include "worker/embedding/slices.h"

namespace rowhouse {

class EmbeddingLayer {
 public:
  // Adds the projections of kinds that have one to `dense`, as blocks "<table>.projection" (or as
  // the group says) of out_width x width, in feature order. `dense` outlives the layer.
  // `pools_on_shards`: of each physical table, whether shards pool its bags (Plan); none: no.
  EmbeddingLayer(const EmbeddingTables& tables, DenseParameters* dense,
                 const std::vector<bool>& pools_on_shards = {});

  // Takes a batch's bags, one a feature. kUsage, naming table, sample and id, if an id is >= rows
  // of a table whose bad_ids is "error", or if weights come with pooling other than sum; then
  // everything is as before the call.
  Status Prepare(const std::vector<Bags>& features);

  // One a physical table, in their order. Prepare fills rows and counts and sizes values.
  std::vector<RowBatch>& row_batches() { return row_batches_; }
  const std::vector<RowBatch>& row_batches() const { return row_batches_; }

  // The bags that shards pool, of each part of each feature whose table they pool, in that order;
  // row_batches() have no rows of those tables. Prepare fills what they look up.
  std::vector<BagBatch>& bag_batches() { return bag_batches_; }
  const std::vector<BagBatch>& bag_batches() const { return bag_batches_; }

  // To be called once the values are there: scales rows whose norm exceeds their table's max_norm,
  // as shards do to what they keep. Zeroes the gradients.
  void RowsArrived();

  // out[i * out_width ..] = the vector of sample samples.first + i; an empty bag gives zeros
  // (before projection). Requires out.size() == samples.count * out_width of the feature.
  void Forward(size_t feature, SampleSlice samples, std::span<float> out);

  // `gradient` is that of the last Forward's out of this feature, for the same samples. Adds to the
  // gradients of row_batches(); overwrites those of the projection's block, or, if an earlier
  // feature shares it and was there before, adds to them.
  void Backward(size_t feature, SampleSlice samples, std::span<const float> gradient);

  size_t features() const { return tables_.features.size(); }
  uint32_t out_width(size_t feature) const { return tables_.features[feature].out_width(); }

  // The projections: their blocks in the dense parameters, for first values and freezing.
  struct Projection {
    size_t feature = 0;  // the first that has it
    size_t block = 0;    // number in DenseParameters
  };
  const std::vector<Projection>& projections() const { return projections_; }
  const EmbeddingTables& tables() const { return tables_; }

 private:
  // What the ids of one group of one feature go through.
  struct Branch {
    size_t feature = 0;
    IdGroup group;
    BagOptions options;
    bool divides = false;  // by the members of the feature's whole bags, after `options`
    std::optional<size_t> projection;  // index in projections_
    bool is_first_to_project = false;  // overwrites the projection's gradient; others add to it
  };

  // One branch of the batch at hand. Lookup i is slots[part][i] of the table of that part.
  struct Lookups {
    std::vector<uint32_t> offsets;      // samples + 1
    std::vector<float> sample_weights;  // one a lookup, or none
    std::vector<size_t> first;          // of each part, and of the weights last: its first lookup
                                        // among those of its table
    // Of the last Forward.
    std::vector<float> weights;                  // one a lookup, or none: of sample and id
    std::vector<std::vector<float>> parts;       // vectors of each part, of lookups or bags
    std::vector<std::vector<uint32_t>> winners;  // of max: of each part, or of the combined vectors
    std::vector<float> combined;                 // lookups x width
    std::vector<float> pooled;                   // samples x width, where projected
  };

  void AddBranches(size_t feature);
  void Resolve(size_t feature, const Bags& bags);
  // `ids` are those of the branch, whose offsets are there.
  void ResolveBranch(size_t branch, std::span<const uint64_t> ids);
  // Deals the feature's `ids` to its branches.
  void Split(size_t feature, const std::vector<uint32_t>& offsets,
             const std::vector<float>& sample_weights, std::span<const uint64_t> ids);
  TableId TableOf(size_t branch, size_t part) const;
  // Null where workers pool.
  BagBatch* BagsOf(size_t branch, size_t part);
  void TakePooled(const BagBatch& bags, SampleSlice samples, bool is_mean, std::span<float> out);
  void PushPooled(BagBatch* bags, SampleSlice samples, bool is_mean,
                  std::span<const float> gradient);
  // Of the lookups of one part, or, for the number after the last, of the learned weights.
  std::span<const uint32_t> Slots(size_t branch, size_t part) const;
  void WeighLookups(size_t branch);
  // Bags of the samples over `slots`, with the weights of the last WeighLookups.
  BagView ViewOf(size_t branch, SampleSlice samples, std::span<const uint32_t> slots) const;
  void ForwardBranch(size_t branch, SampleSlice samples, std::span<float> out);
  // Divides vectors of the samples by the members of their whole bags, if the branch does.
  // What projects the branch's pooled vectors: out width x width.
  ConstMatrix ProjectionOf(size_t branch) const;
  void Divide(size_t branch, SampleSlice samples, std::span<float> vectors) const;
  void Pool(size_t branch, SampleSlice samples, std::span<float> out);
  void PoolCombined(size_t branch, SampleSlice samples, std::span<float> out);
  void BackwardBranch(size_t branch, SampleSlice samples, std::span<const float> gradient);
  void AddProjectionGradient(size_t branch, SampleSlice samples, std::span<const float> gradient);
  void Unpool(size_t branch, SampleSlice samples, std::span<const float> gradient);
  void UnpoolCombined(size_t branch, SampleSlice samples, std::span<const float> gradient);
  void AddWeightGradients(size_t branch, SampleSlice samples, const std::vector<float>& by_lookup);
  // Slots that say: lookup begin + i is vector i. Good until the next call.
  std::span<const uint32_t> PlacesFrom(size_t begin, size_t count);

  const EmbeddingTables tables_;
  DenseParameters* const dense_;
  std::vector<Projection> projections_;
  std::vector<Branch> branches_;      // by feature and group
  std::vector<size_t> first_branch_;  // of each feature; and at last their number
  MatrixProducts products_;

  RowMerge merge_;
  std::vector<RowBatch> row_batches_;
  std::vector<BagBatch> bag_batches_;
  std::vector<std::vector<int64_t>> bags_of_;  // of each feature's parts: in bag_batches_, or -1
  std::vector<Lookups> lookups_;               // of each branch
  std::vector<std::vector<uint32_t>>
      members_;                               // of each feature with branches that divide: of bags
  std::vector<std::vector<uint64_t>> ids_;    // of each physical table: rows looked up, in order
  std::vector<std::vector<uint32_t>> slots_;  // and their places in row_batches_[t].rows
  // Of the feature being resolved: what is no padding, its groups, and the ids of one of these.
  std::vector<uint64_t> kept_ids_;
  std::vector<uint32_t> kept_offsets_, groups_of_ids_;
  std::vector<float> kept_weights_;
  std::vector<uint64_t> branch_ids_;
  std::vector<uint32_t> places_;  // see PlacesFrom
  std::vector<float> branch_out_;
  std::vector<float> pooled_gradient_, combined_gradient_, part_gradient_, projection_gradient_;
};

}  // namespace rowhouse
