#include "worker/embedding/branch.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>

#include "common/kernels/row_updates.h"

namespace rowhouse {
namespace {

// The pooled vectors that came with the pull.
void TakePooled(const BagBatch& bags, SampleSlice samples, bool is_mean, std::span<float> out) {
  std::copy_n(&bags.pooled[samples.first * bags.dim], out.size(), out.data());
  if (!is_mean) return;
  for (size_t i = 0; i < samples.count; ++i) {
    const uint32_t members = bags.offsets[samples.first + i + 1] - bags.offsets[samples.first + i];
    if (members == 0) continue;
    for (float& value : out.subspan(i * bags.dim, bags.dim)) value /= static_cast<float>(members);
  }
}

// The gradient of each lookup, for the push.
void WriteGradients(SampleSlice samples, bool is_mean, std::span<const float> gradient,
                    BagBatch* bags) {
  float* to = &bags->gradients[samples.first * bags->dim];
  std::copy(gradient.begin(), gradient.end(), to);
  if (!is_mean) return;
  for (size_t i = 0; i < samples.count; ++i, to += bags->dim) {
    const uint32_t members =
        bags->offsets[samples.first + i + 1] - bags->offsets[samples.first + i];
    const float scale = 1.0f / static_cast<float>(members);
    for (size_t c = 0; members > 0 && c < bags->dim; ++c) to[c] *= scale;
  }
}

}  // namespace

void CombineVectors(Combine combine, std::span<const std::vector<float>> vectors, size_t n,
                    size_t dim, std::span<float> out) {
  const size_t parts = vectors.size();
  if (combine == Combine::kConcat) {
    CHECK_EQ(out.size(), n * dim * parts);
    for (size_t i = 0; i < n; ++i) {
      for (size_t p = 0; p < parts; ++p) {
        std::copy_n(&vectors[p][i * dim], dim, &out[(i * parts + p) * dim]);
      }
    }
    return;
  }
  CHECK_EQ(out.size(), n * dim);
  std::copy_n(vectors[0].begin(), n * dim, out.begin());
  for (size_t p = 1; p < parts; ++p) {
    const float* vector = vectors[p].data();
    if (combine == Combine::kProduct) {
      for (size_t i = 0; i < n * dim; ++i) out[i] *= vector[i];
    } else {
      for (size_t i = 0; i < n * dim; ++i) out[i] += vector[i];
    }
  }
}

void SplitGradient(Combine combine, std::span<const std::vector<float>> vectors, size_t part,
                   std::span<const float> gradient, size_t n, size_t dim, std::span<float> out) {
  const size_t parts = vectors.size();
  CHECK_EQ(out.size(), n * dim);
  if (combine == Combine::kConcat) {
    for (size_t i = 0; i < n; ++i) {
      std::copy_n(&gradient[(i * parts + part) * dim], dim, &out[i * dim]);
    }
    return;
  }
  std::copy_n(gradient.begin(), n * dim, out.begin());
  if (combine == Combine::kSum) return;
  for (size_t p = 0; p < parts; ++p) {
    if (p == part) continue;
    const float* vector = vectors[p].data();
    for (size_t i = 0; i < n * dim; ++i) out[i] *= vector[i];
  }
}

BagOptions PoolingOf(const FeatureTable& feature) {
  const LogicalTable& table = feature.table;
  BagOptions options{.pooling = Pooling::kSum, .exact = table.pooling_sum == "exact"};
  if (table.pooling == "max") options.pooling = Pooling::kMax;
  if (table.pooling == "mean" && feature.groups.size() == 1) options.pooling = Pooling::kMean;
  return options;
}

Branch::Branch(const FeatureTable& feature, const IdGroup& group,
               std::optional<Projection> projection, const std::vector<BagBatch*>& bags,
               BranchContext& context)
    : feature_(feature),
      group_(group),
      projection_(projection),
      options_(PoolingOf(feature)),
      divides_(feature.table.pooling == "mean" && feature.groups.size() > 1),
      context_(context),
      parts_(group.parts),
      vectors_(group.parts) {
  CHECK_EQ(bags.size(), parts_.size());
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p].table = feature.parts[group.first_part + p];
    parts_[p].bags = bags[p];
  }
}

void Branch::Resolve(const ResolvedIds& ids, std::span<const uint32_t> members) {
  offsets_.assign(ids.offsets.begin(), ids.offsets.end());
  data_weights_.assign(ids.weights.begin(), ids.weights.end());
  members_ = members;
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    std::span<uint64_t> rows;
    if (part.bags != nullptr) {
      part.bags->offsets = offsets_;
      part.bags->weights = data_weights_;
      part.bags->rows.resize(ids.ids.size());
      rows = part.bags->rows;
    } else {
      rows = context_.lookups.Add(part.table, ids.ids.size(), &part.first);
    }
    feature_.kind->Resolve(group_.first_part + p, ids.ids, rows);
  }
  if (feature_.weights) {
    std::ranges::copy(
        ids.ids, context_.lookups.Add(*feature_.weights, ids.ids.size(), &first_weight_).begin());
  }
}

std::span<const uint32_t> Branch::SlotsOf(TableId table, size_t first) const {
  return context_.lookups.Slots(table, first, offsets_.back());
}

BagView Branch::ViewOf(SampleSlice samples, std::span<const uint32_t> slots) const {
  return {.offsets = std::span(offsets_).subspan(samples.first, samples.count + 1),
          .slots = slots,
          .weights = weights_};
}

std::span<const uint32_t> Branch::PlacesFrom(size_t begin, size_t count) {
  std::vector<uint32_t>& places = context_.places;
  places.assign(begin, 0);
  places.resize(begin + count);
  std::iota(places.begin() + static_cast<std::ptrdiff_t>(begin), places.end(), 0u);
  return places;
}

void Branch::WeighLookups() {
  weights_ = data_weights_;
  if (!feature_.weights) return;
  const std::span<const uint32_t> slots = SlotsOf(*feature_.weights, first_weight_);
  std::vector<float>& learned = context_.learned_weights;
  learned.resize(slots.size());
  GatherRows(slots, context_.lookups.values(*feature_.weights), /*dim=*/1, learned);
  if (weights_.empty()) weights_.assign(slots.size(), 1.0f);
  for (size_t p = 0; p < slots.size(); ++p) weights_[p] *= learned[p];
}

void Branch::Divide(SampleSlice samples, std::span<float> vectors) const {
  if (!divides_) return;
  for (size_t i = 0; i < samples.count; ++i) {
    const uint32_t members = members_[samples.first + i];
    if (members == 0) continue;
    for (float& value : vectors.subspan(i * group_.width, group_.width)) {
      value /= static_cast<float>(members);
    }
  }
}

void Branch::Forward(SampleSlice samples, std::span<float> out) {
  WeighLookups();
  if (projection_) return Project(samples, out);
  Pool(samples, out);
  Divide(samples, out);
}

void Branch::Project(SampleSlice samples, std::span<float> out) {
  pooled_.resize(samples.count * group_.width);
  Pool(samples, pooled_);
  Divide(samples, pooled_);
  if (samples.count == 0) return;
  const auto rows = static_cast<int64_t>(samples.count);
  context_.products.Multiply(MatrixOf(std::as_const(pooled_).data(), rows, group_.width),
                             ProjectionWeights(), MatrixOf(out.data(), rows, feature_.out_width()),
                             {.b_transposed = true});
}

ConstMatrix Branch::ProjectionWeights() const {
  const float* const values = context_.dense.values(projection_->block).data();
  return MatrixOf(values, feature_.out_width(), group_.width);
}

void Branch::Pool(SampleSlice samples, std::span<float> out) {
  if (CombinesIds()) return PoolCombined(samples, out);
  if (parts_.size() == 1) return PoolPart(samples, &parts_[0], out);
  for (size_t p = 0; p < parts_.size(); ++p) {
    vectors_[p].resize(samples.count * RowsOf(parts_[p]).dim);
    PoolPart(samples, &parts_[p], vectors_[p]);
  }
  CombineVectors(feature_.kind->layout().combine, vectors_, samples.count, RowsOf(parts_[0]).dim,
                 out);
}

void Branch::PoolPart(SampleSlice samples, Part* part, std::span<float> out) {
  if (part->bags != nullptr) {
    const bool is_mean = options_.pooling == Pooling::kMean;
    if (samples.count > 0) TakePooled(*part->bags, samples, is_mean, out);
    return;
  }
  PoolBags(ViewOf(samples, SlotsOf(part->table, part->first)), options_,
           context_.lookups.values(part->table), RowsOf(*part).dim, out, &part->winners);
}

// The vectors of all lookups of the samples are combined, then pooled as if they were rows.
void Branch::PoolCombined(SampleSlice samples, std::span<float> out) {
  const size_t begin = offsets_[samples.first];
  const size_t count = offsets_[samples.first + samples.count] - begin;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const TableId table = parts_[p].table;
    const uint32_t dim = RowsOf(parts_[p]).dim;
    vectors_[p].resize(count * dim);
    GatherRows(SlotsOf(table, parts_[p].first).subspan(begin, count),
               context_.lookups.values(table), dim, vectors_[p]);
  }
  combined_.resize(count * group_.width);
  CombineVectors(feature_.kind->layout().combine, vectors_, count, RowsOf(parts_[0]).dim,
                 combined_);
  PoolBags(ViewOf(samples, PlacesFrom(begin, count)), options_, combined_, group_.width, out,
           &parts_[0].winners);
}

void Branch::Backward(SampleSlice samples, std::span<const float> gradient) {
  if (projection_) AddProjectionGradient(samples, gradient);
  if (feature_.table.freeze || (projection_ && samples.count == 0)) return;
  if (!projection_ && !divides_) return Unpool(samples, gradient);
  std::vector<float>& pooled = context_.pooled_gradient;
  pooled.resize(samples.count * group_.width);
  if (projection_) {
    const auto rows = static_cast<int64_t>(samples.count);
    context_.products.Multiply(MatrixOf(gradient.data(), rows, feature_.out_width()),
                               ProjectionWeights(), MatrixOf(pooled.data(), rows, group_.width));
  } else {
    std::ranges::copy(gradient, pooled.begin());
  }
  Divide(samples, pooled);
  Unpool(samples, pooled);
}

void Branch::AddProjectionGradient(SampleSlice samples, std::span<const float> gradient) {
  const std::span<float> sum = context_.dense.gradients(projection_->block);
  if (samples.count == 0 || feature_.table.freeze) {
    if (!projection_->is_shared) std::fill(sum.begin(), sum.end(), 0.0f);
    return;
  }
  CHECK_EQ(pooled_.size(), samples.count * group_.width);
  std::span<float> mine = sum;
  if (projection_->is_shared) {
    context_.projection_gradient.resize(sum.size());
    mine = context_.projection_gradient;
  }
  const auto rows = static_cast<int64_t>(samples.count);
  context_.products.Multiply(MatrixOf(gradient.data(), rows, feature_.out_width()),
                             MatrixOf(std::as_const(pooled_).data(), rows, group_.width),
                             MatrixOf(mine.data(), feature_.out_width(), group_.width),
                             {.a_transposed = true});
  if (projection_->is_shared) AddRow(mine, sum);
}

void Branch::Unpool(SampleSlice samples, std::span<const float> gradient) {
  if (CombinesIds()) return UnpoolCombined(samples, gradient);
  if (parts_.size() == 1) return UnpoolPart(samples, &parts_[0], gradient);
  std::vector<float>& of_part = context_.part_gradient;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const size_t dim = RowsOf(parts_[p]).dim;
    of_part.resize(samples.count * dim);
    SplitGradient(feature_.kind->layout().combine, vectors_, p, gradient, samples.count, dim,
                  of_part);
    UnpoolPart(samples, &parts_[p], of_part);
  }
}

void Branch::UnpoolPart(SampleSlice samples, Part* part, std::span<const float> gradient) {
  if (part->bags != nullptr) {
    const bool is_mean = options_.pooling == Pooling::kMean;
    if (samples.count > 0) WriteGradients(samples, is_mean, gradient, part->bags);
    return;
  }
  RowBatch& batch = RowsOf(*part);
  const BagView bags = ViewOf(samples, SlotsOf(part->table, part->first));
  AddBagGradients(bags, options_, gradient, batch.dim, &part->winners, batch.gradients);
  if (!feature_.weights) return;
  AddWeightGradients(samples, BagWeightGradients(bags, batch.values, gradient, batch.dim));
}

void Branch::UnpoolCombined(SampleSlice samples, std::span<const float> gradient) {
  const size_t begin = offsets_[samples.first];
  const size_t count = offsets_[samples.first + samples.count] - begin;
  const BagView bags = ViewOf(samples, PlacesFrom(begin, count));
  std::vector<float>& of_combined = context_.combined_gradient;
  of_combined.assign(count * group_.width, 0.0f);
  AddBagGradients(bags, options_, gradient, group_.width, &parts_[0].winners, of_combined);
  if (feature_.weights) {
    AddWeightGradients(samples, BagWeightGradients(bags, combined_, gradient, group_.width));
  }
  std::vector<float>& of_part = context_.part_gradient;
  for (size_t p = 0; p < parts_.size(); ++p) {
    RowBatch& batch = RowsOf(parts_[p]);
    of_part.resize(count * batch.dim);
    SplitGradient(feature_.kind->layout().combine, vectors_, p, of_combined, count, batch.dim,
                  of_part);
    const std::span<const uint32_t> slots =
        SlotsOf(parts_[p].table, parts_[p].first).subspan(begin, count);
    for (size_t i = 0; i < count; ++i) {
      AddRow(std::span(of_part).subspan(i * batch.dim, batch.dim),
             std::span(batch.gradients).subspan(size_t{slots[i]} * batch.dim, batch.dim));
    }
  }
}

// `by_lookup`: the gradient of each lookup's weight, which is that of the data times the learned
// one.
void Branch::AddWeightGradients(SampleSlice samples, std::span<const float> by_lookup) {
  const std::span<const uint32_t> slots = SlotsOf(*feature_.weights, first_weight_);
  std::vector<float>& gradients = context_.lookups.rows(*feature_.weights).gradients;
  const size_t end = offsets_[samples.first + samples.count];
  for (size_t p = offsets_[samples.first]; p < end; ++p) {
    const float of_data = data_weights_.empty() ? 1.0f : data_weights_[p];
    gradients[slots[p]] += of_data * by_lookup[p];
  }
}

}  // namespace rowhouse
