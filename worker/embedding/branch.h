// Branch: what the ids of one group of one feature go through, from ids to vectors and back. Most
// kinds of tables have one group, so a feature has one branch; a kind that keeps frequent ids wider
// than rare ones has several, whose vectors the feature adds up.
//
//   id -> a row in the physical table of each part -> the rows' vectors, combined per id
//      -> pooled over the bag -> projected to the feature's width by a matrix, if the kind has one
//
// Three orders of combining and pooling, by the kind: a single part is pooled; several parts are
// combined per id and then pooled; or, with pool_first, each part is pooled and the pooled vectors
// are combined. Where shards pool a part's bags, its pooled vectors come with the pull (BagBatch).
//
// A batch: Resolve once; after the rows' values are there, Forward and then Backward of all
// samples, or of one range of samples after the other. Forward keeps what Backward of the same
// samples needs. Exactness: pooling is f32, left to right as in the bag, unless the table has
// pooling_sum "exact". Threads: one; products use the OpenMP threads that the process was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/kernels/embedding_bag.h"
#include "sharding/tables/embedding_tables.h"
#include "sharding/tables/table_kind.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/matrix_product.h"
#include "worker/embedding/batch_lookups.h"
#include "worker/embedding/row_batch.h"
#include "worker/embedding/slices.h"

namespace rowhouse {

// Combines the vectors of an id's parts to one (sharding/tables/table_kind.h), for n ids or
// n bags at a time, and goes back from the gradient of the combined vectors to that of each part.
// Elementwise, in part order: the same bits on any instruction set.
// vectors[p]: n x dim, of part p; all parts have the same dim. out: overwritten; n x dim, or
// n x (parts * dim) for kConcat.
void CombineVectors(Combine combine, std::span<const std::vector<float>> vectors, size_t n,
                    size_t dim, std::span<float> out);

// out: the gradient of the vectors of part `part`, n x dim, overwritten. `gradient`: that of the
// combined vectors. `vectors` are those of CombineVectors.
void SplitGradient(Combine combine, std::span<const std::vector<float>> vectors, size_t part,
                   std::span<const float> gradient, size_t n, size_t dim, std::span<float> out);

// The ids of a batch that a branch or a feature looks up.
struct ResolvedIds {
  std::span<const uint32_t> offsets;  // samples + 1; bag s has ids [offsets[s], offsets[s + 1])
  std::span<const uint64_t> ids;
  std::span<const float> weights;  // of the data, one an id; or none
};

// What all branches of a layer share.
struct BranchContext {
  BatchLookups& lookups;
  DenseParameters& dense;
  MatrixProducts products;
  // Buffers of a call; no branch keeps anything in them.
  std::vector<uint32_t> places;
  std::vector<float> learned_weights;
  std::vector<float> pooled_gradient, combined_gradient, part_gradient, projection_gradient;
};

class Branch {
 public:
  // The matrix of out_width x group.width that projects the pooled vectors.
  struct Projection {
    size_t block = 0;        // number in DenseParameters
    bool is_shared = false;  // an earlier branch overwrites its gradient; this one adds to it
  };

  // `bags[p]`: where shards pool the bags of part p of the group, else null. All pointers and the
  // context outlive the branch.
  Branch(const FeatureTable& feature, const IdGroup& group, std::optional<Projection> projection,
         const std::vector<BagBatch*>& bags, BranchContext& context);

  // Adds the rows of the ids to the context's lookups, and to the bags that shards pool.
  // `members[s]`: how many ids the whole feature has in bag s, over all its branches; it stays
  // where it is until the next call.
  void Resolve(const ResolvedIds& ids, std::span<const uint32_t> members);

  // out: samples.count x out_width of the feature, overwritten.
  void Forward(SampleSlice samples, std::span<float> out);

  // `gradient` is that of the last Forward's out. Adds to the gradients of the rows; overwrites
  // those of the projection, or adds to them if it is shared. Frozen tables and their projection
  // get none.
  void Backward(SampleSlice samples, std::span<const float> gradient);

 private:
  struct Part {
    TableId table{};
    BagBatch* bags = nullptr;
    size_t first = 0;  // number of its first lookup in the table
    // Of the last Forward with pooling max; if the branch combines ids, of the first part only.
    std::vector<uint32_t> winners;
  };

  bool CombinesIds() const { return parts_.size() > 1 && !feature_.kind->layout().pool_first; }
  RowBatch& RowsOf(const Part& part) const { return context_.lookups.rows(part.table); }
  // Of all lookups of one part, or of the learned weights.
  std::span<const uint32_t> SlotsOf(TableId table, size_t first) const;
  BagView ViewOf(SampleSlice samples, std::span<const uint32_t> slots) const;
  // Slots that say: lookup begin + i of the branch is vector i. Good until the next call.
  std::span<const uint32_t> PlacesFrom(size_t begin, size_t count);
  void WeighLookups();
  void Divide(SampleSlice samples, std::span<float> vectors) const;
  void Project(SampleSlice samples, std::span<float> out);
  void Pool(SampleSlice samples, std::span<float> out);
  void PoolPart(SampleSlice samples, Part* part, std::span<float> out);
  void PoolCombined(SampleSlice samples, std::span<float> out);
  // Of shape out width x width. Requires a projection.
  ConstMatrix ProjectionWeights() const;
  void AddProjectionGradient(SampleSlice samples, std::span<const float> gradient);
  void Unpool(SampleSlice samples, std::span<const float> gradient);
  void UnpoolPart(SampleSlice samples, Part* part, std::span<const float> gradient);
  void UnpoolCombined(SampleSlice samples, std::span<const float> gradient);
  void AddWeightGradients(SampleSlice samples, std::span<const float> by_lookup);

  const FeatureTable& feature_;
  const IdGroup group_;
  const std::optional<Projection> projection_;
  BagOptions options_;
  bool divides_ = false;  // pooling mean, several branches: each divides its sum by members_
  BranchContext& context_;

  // Of the batch.
  std::vector<Part> parts_;
  std::vector<uint32_t> offsets_;      // samples + 1
  std::vector<float> data_weights_;    // one a lookup, or none
  std::span<const uint32_t> members_;  // see Resolve
  size_t first_weight_ = 0;            // number of the first lookup of learned weights
  // Of the last Forward.
  std::vector<std::vector<float>> vectors_;  // of each of several parts: of lookups or samples
  std::vector<float> weights_;   // one a lookup, or none: of the data times the learned one
  std::vector<float> combined_;  // lookups x width, if the branch combines ids
  std::vector<float> pooled_;    // samples x width, if it projects
};

// The pooling of a feature's table. One of several branches pools a mean as a sum.
BagOptions PoolingOf(const FeatureTable& feature);

}  // namespace rowhouse
