#include "worker/embedding/embedding.h"

#include <algorithm>
#include <numeric>

#include "common/kernels/row_norm.h"
#include "common/kernels/row_updates.h"
#include "worker/embedding/combine.h"

namespace rowhouse {
namespace {

Pooling PoolingOf(const LogicalTable& table) {
  if (table.pooling == "mean") return Pooling::kMean;
  return table.pooling == "max" ? Pooling::kMax : Pooling::kSum;
}

BagOptions OptionsOf(const LogicalTable& table) {
  return {.pooling = PoolingOf(table), .exact = table.pooling_sum == "exact"};
}

Status BadId(const LogicalTable& table, size_t sample, uint64_t id) {
  return UsageError(
      "table \"{}\", sample {} of the batch: id {} is outside its {} rows; bad_ids: modulo or "
      "padding would take it",
      table.name, sample, id, table.rows);
}

}  // namespace

EmbeddingLayer::EmbeddingLayer(const EmbeddingTables& tables, DenseParameters* dense,
                               const std::vector<bool>& pools_on_shards)
    : tables_(tables),
      dense_(dense),
      row_batches_(tables.physical.size()),
      members_(tables.features.size()),
      ids_(tables.physical.size()),
      slots_(tables.physical.size()) {
  for (size_t t = 0; t < row_batches_.size(); ++t) {
    row_batches_[t].table = tables_.physical[t].id;
    row_batches_[t].dim = tables_.physical[t].dim;
    row_batches_[t].trains = !tables_.is_frozen[t];
  }
  for (size_t k = 0; k < tables_.features.size(); ++k) {
    const FeatureTable& feature = tables_.features[k];
    AddBranches(k);
    std::vector<int64_t>& bags_of_parts = bags_of_.emplace_back();
    for (const TableId part : feature.parts) {
      const bool is_pooled = !pools_on_shards.empty() && pools_on_shards[Raw(part)];
      bags_of_parts.push_back(is_pooled ? static_cast<int64_t>(bag_batches_.size()) : -1);
      if (!is_pooled) continue;
      BagBatch bags;
      bags.table = part;
      bags.dim = tables_.physical[Raw(part)].dim;
      bags.table_rows = tables_.physical[Raw(part)].rows;
      bags.pooling = branches_.back().options.pooling;
      bags.exact = branches_.back().options.exact;
      bags.trains = !tables_.is_frozen[Raw(part)];
      bag_batches_.push_back(std::move(bags));
    }
  }
  first_branch_.push_back(branches_.size());
  lookups_.resize(branches_.size());
}

void EmbeddingLayer::AddBranches(size_t feature) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  const InitialValues first = layout.projection_initialiser == "xavier_uniform"
                                  ? InitialValues::kXavierUniform
                                  : InitialValues::kXavierNormal;
  first_branch_.push_back(branches_.size());
  for (const IdGroup& group : at.groups) {
    Branch branch{.feature = feature, .group = group, .options = OptionsOf(at.table)};
    if (at.groups.size() > 1 && branch.options.pooling == Pooling::kMean) {
      branch.options.pooling = Pooling::kSum;
      branch.divides = true;
    }
    if (group.projects) {
      const auto known = std::ranges::find_if(projections_, [&](const Projection& other) {
        return dense_->blocks()[other.block].name == group.projection;
      });
      branch.projection = static_cast<size_t>(known - projections_.begin());
      branch.is_first_to_project = known == projections_.end();
      if (branch.is_first_to_project) {
        projections_.push_back(
            {.feature = feature,
             .block = dense_->Add(group.projection, layout.out_width, group.width, first)});
      }
    }
    branches_.push_back(std::move(branch));
  }
}

Status EmbeddingLayer::Prepare(const std::vector<Bags>& features) {
  CHECK_EQ(features.size(), tables_.features.size());
  for (size_t k = 0; k < features.size(); ++k) {
    const LogicalTable& table = tables_.features[k].table;
    const Bags& bags = features[k];
    CHECK(!bags.offsets.empty() && bags.offsets.front() == 0);
    CHECK_EQ(bags.offsets.back(), bags.ids.size());
    if (!bags.weights.empty()) {
      CHECK_EQ(bags.weights.size(), bags.ids.size());
      if (table.pooling != "sum") {
        return UsageError("table \"{}\": the data bring per-sample weights, which need pooling=sum",
                          table.name);
      }
    }
    if (table.bad_ids != "error") continue;
    const auto bad = std::find_if(bags.ids.begin(), bags.ids.end(),
                                  [&table](uint64_t id) { return id >= table.rows; });
    if (bad == bags.ids.end()) continue;
    const auto position = static_cast<uint32_t>(bad - bags.ids.begin());
    // The last bag that begins at or before the position: empty bags share its offset.
    const auto after = std::upper_bound(bags.offsets.begin(), bags.offsets.end(), position);
    return BadId(table, static_cast<size_t>(after - bags.offsets.begin() - 1), *bad);
  }
  for (std::vector<uint64_t>& ids : ids_) ids.clear();
  for (size_t k = 0; k < features.size(); ++k) Resolve(k, features[k]);
  for (size_t t = 0; t < row_batches_.size(); ++t) {
    RowBatch& batch = row_batches_[t];
    merge_.Merge(ids_[t], &batch.rows, &batch.counts, &slots_[t]);
    batch.values.resize(batch.rows.size() * batch.dim);
  }
  return OkStatus();
}

void EmbeddingLayer::Resolve(size_t feature, const Bags& bags) {
  const FeatureTable& at = tables_.features[feature];
  const LogicalTable& table = at.table;
  const size_t first = first_branch_[feature];
  const bool is_split = at.groups.size() > 1;
  std::vector<uint32_t>& offsets = is_split ? kept_offsets_ : lookups_[first].offsets;
  std::vector<float>& weights = is_split ? kept_weights_ : lookups_[first].sample_weights;
  std::span<const uint64_t> ids = bags.ids;
  const bool drops = table.padding_id.has_value() || table.bad_ids == "padding";
  if (!drops && table.bad_ids == "error") {
    offsets = bags.offsets;
    weights = bags.weights;
  } else {
    kept_ids_.clear();
    offsets.assign(1, 0);
    weights.clear();
    for (size_t b = 0; b < bags.samples(); ++b) {
      for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
        uint64_t id = bags.ids[p];
        if (id >= table.rows) {
          if (table.bad_ids == "padding") continue;
          id %= table.rows;
        }
        if (table.padding_id == id) continue;
        kept_ids_.push_back(id);
        if (!bags.weights.empty()) weights.push_back(bags.weights[p]);
      }
      offsets.push_back(static_cast<uint32_t>(kept_ids_.size()));
    }
    ids = kept_ids_;
  }
  if (is_split) {
    Split(feature, offsets, weights, ids);
  } else {
    ResolveBranch(first, ids);
  }
}

void EmbeddingLayer::Split(size_t feature, const std::vector<uint32_t>& offsets,
                           const std::vector<float>& sample_weights,
                           std::span<const uint64_t> ids) {
  std::vector<uint32_t>& members = members_[feature];
  members.resize(offsets.size() - 1);
  for (size_t b = 0; b < members.size(); ++b) members[b] = offsets[b + 1] - offsets[b];
  groups_of_ids_.resize(ids.size());
  tables_.features[feature].kind->Assign(ids, groups_of_ids_);
  for (size_t branch = first_branch_[feature]; branch < first_branch_[feature + 1]; ++branch) {
    const size_t group = branch - first_branch_[feature];
    Lookups& lookups = lookups_[branch];
    branch_ids_.clear();
    lookups.offsets.assign(1, 0);
    lookups.sample_weights.clear();
    for (size_t b = 0; b < members.size(); ++b) {
      for (size_t p = offsets[b]; p < offsets[b + 1]; ++p) {
        if (groups_of_ids_[p] != group) continue;
        branch_ids_.push_back(ids[p]);
        if (!sample_weights.empty()) lookups.sample_weights.push_back(sample_weights[p]);
      }
      lookups.offsets.push_back(static_cast<uint32_t>(branch_ids_.size()));
    }
    ResolveBranch(branch, branch_ids_);
  }
}

void EmbeddingLayer::ResolveBranch(size_t branch, std::span<const uint64_t> ids) {
  const IdGroup& group = branches_[branch].group;
  const FeatureTable& at = tables_.features[branches_[branch].feature];
  Lookups& lookups = lookups_[branch];
  lookups.first.clear();
  for (size_t part = 0; part < group.parts; ++part) {
    const size_t place = group.first_part + part;
    if (BagBatch* const on_shards = BagsOf(branch, part)) {
      lookups.first.push_back(0);
      on_shards->offsets = lookups.offsets;
      on_shards->weights = lookups.sample_weights;
      on_shards->rows.resize(ids.size());
      at.kind->Resolve(place, ids, on_shards->rows);
      continue;
    }
    std::vector<uint64_t>& rows = ids_[Raw(at.parts[place])];
    lookups.first.push_back(rows.size());
    rows.resize(rows.size() + ids.size());
    at.kind->Resolve(place, ids, std::span(rows).last(ids.size()));
  }
  if (at.weights) {
    std::vector<uint64_t>& rows = ids_[Raw(*at.weights)];
    lookups.first.push_back(rows.size());
    rows.insert(rows.end(), ids.begin(), ids.end());
  }
}

TableId EmbeddingLayer::TableOf(size_t branch, size_t part) const {
  const Branch& at = branches_[branch];
  const FeatureTable& feature = tables_.features[at.feature];
  return part < at.group.parts ? feature.parts[at.group.first_part + part] : *feature.weights;
}

BagBatch* EmbeddingLayer::BagsOf(size_t branch, size_t part) {
  const Branch& at = branches_[branch];
  const int64_t place = bags_of_[at.feature][at.group.first_part + part];
  return place < 0 ? nullptr : &bag_batches_[static_cast<size_t>(place)];
}

void EmbeddingLayer::TakePooled(const BagBatch& bags, SampleSlice samples, bool is_mean,
                                std::span<float> out) {
  std::copy_n(&bags.pooled[samples.first * bags.dim], out.size(), out.data());
  if (!is_mean) return;
  for (size_t i = 0; i < samples.count; ++i) {
    const uint32_t members = bags.offsets[samples.first + i + 1] - bags.offsets[samples.first + i];
    if (members == 0) continue;
    for (float& value : out.subspan(i * bags.dim, bags.dim)) value /= static_cast<float>(members);
  }
}

void EmbeddingLayer::PushPooled(BagBatch* bags, SampleSlice samples, bool is_mean,
                                std::span<const float> gradient) {
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

void EmbeddingLayer::RowsArrived() {
  for (BagBatch& bags : bag_batches_) {
    CHECK_EQ(bags.pooled.size(), bags.bags() * bags.dim);
    bags.gradients.assign(bags.pooled.size(), 0.0f);
  }
  for (size_t t = 0; t < row_batches_.size(); ++t) {
    RowBatch& batch = row_batches_[t];
    CHECK_EQ(batch.values.size(), batch.rows.size() * batch.dim);
    const TableSpec& table = tables_.physical[t];
    if (table.max_norm > 0.0) {
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        RenormaliseRow(table.max_norm, table.norm_type,
                       std::span(batch.values).subspan(r * batch.dim, batch.dim));
      }
    }
    batch.gradients.assign(batch.trains ? batch.values.size() : 0, 0.0f);
  }
}

std::span<const uint32_t> EmbeddingLayer::Slots(size_t branch, size_t part) const {
  const Lookups& lookups = lookups_[branch];
  return std::span(slots_[Raw(TableOf(branch, part))])
      .subspan(lookups.first[part], lookups.offsets.back());
}

void EmbeddingLayer::WeighLookups(size_t branch) {
  const FeatureTable& at = tables_.features[branches_[branch].feature];
  Lookups& lookups = lookups_[branch];
  lookups.weights = lookups.sample_weights;
  if (!at.weights) return;
  const std::span<const uint32_t> slots = Slots(branch, branches_[branch].group.parts);
  const std::vector<float>& values = row_batches_[Raw(*at.weights)].values;
  if (lookups.weights.empty()) lookups.weights.assign(slots.size(), 1.0f);
  for (size_t p = 0; p < slots.size(); ++p) lookups.weights[p] *= values[slots[p]];
}

BagView EmbeddingLayer::ViewOf(size_t branch, SampleSlice samples,
                               std::span<const uint32_t> slots) const {
  const Lookups& lookups = lookups_[branch];
  return {.offsets = std::span(lookups.offsets).subspan(samples.first, samples.count + 1),
          .slots = slots,
          .weights = lookups.weights};
}

void EmbeddingLayer::Forward(size_t feature, SampleSlice samples, std::span<float> out) {
  const size_t first = first_branch_[feature];
  CHECK_EQ(out.size(), samples.count * out_width(feature));
  ForwardBranch(first, samples, out);
  for (size_t branch = first + 1; branch < first_branch_[feature + 1]; ++branch) {
    branch_out_.resize(out.size());
    ForwardBranch(branch, samples, branch_out_);
    AddRow(branch_out_, out);
  }
}

void EmbeddingLayer::ForwardBranch(size_t branch, SampleSlice samples, std::span<float> out) {
  const Branch& at = branches_[branch];
  WeighLookups(branch);
  if (!at.projection) {
    Pool(branch, samples, out);
    Divide(branch, samples, out);
    return;
  }
  std::vector<float>& pooled = lookups_[branch].pooled;
  pooled.resize(samples.count * at.group.width);
  Pool(branch, samples, pooled);
  Divide(branch, samples, pooled);
  if (samples.count == 0) return;
  const auto rows = static_cast<int64_t>(samples.count);
  products_.Multiply(MatrixOf(std::as_const(pooled).data(), rows, at.group.width),
                     ProjectionOf(branch), MatrixOf(out.data(), rows, out_width(at.feature)),
                     {.b_transposed = true});
}

ConstMatrix EmbeddingLayer::ProjectionOf(size_t branch) const {
  const Branch& at = branches_[branch];
  const float* const values = dense_->values(projections_[*at.projection].block).data();
  return MatrixOf(values, out_width(at.feature), at.group.width);
}

void EmbeddingLayer::Divide(size_t branch, SampleSlice samples, std::span<float> vectors) const {
  const Branch& at = branches_[branch];
  if (!at.divides) return;
  for (size_t i = 0; i < samples.count; ++i) {
    const uint32_t members = members_[at.feature][samples.first + i];
    if (members == 0) continue;
    for (float& value : vectors.subspan(i * at.group.width, at.group.width)) {
      value /= static_cast<float>(members);
    }
  }
}

void EmbeddingLayer::Pool(size_t branch, SampleSlice samples, std::span<float> out) {
  const Branch& at = branches_[branch];
  const KindLayout& layout = tables_.features[at.feature].kind->layout();
  Lookups& lookups = lookups_[branch];
  const size_t parts = at.group.parts;
  lookups.winners.resize(parts);
  if (parts > 1 && !layout.pool_first) return PoolCombined(branch, samples, out);
  lookups.parts.resize(parts);
  for (size_t part = 0; part < parts; ++part) {
    const RowBatch& batch = row_batches_[Raw(TableOf(branch, part))];
    std::span<float> pooled = out;
    if (parts > 1) {
      lookups.parts[part].resize(samples.count * batch.dim);
      pooled = lookups.parts[part];
    }
    if (const BagBatch* const on_shards = BagsOf(branch, part)) {
      if (samples.count > 0) {
        TakePooled(*on_shards, samples, at.options.pooling == Pooling::kMean, pooled);
      }
      continue;
    }
    PoolBags(ViewOf(branch, samples, Slots(branch, part)), at.options, batch.values, batch.dim,
             pooled, &lookups.winners[part]);
  }
  if (parts > 1) {
    CombineVectors(layout.combine, lookups.parts, samples.count,
                   row_batches_[Raw(TableOf(branch, 0))].dim, out);
  }
}

// Per id: the vectors of all lookups of the samples are combined, then pooled as rows of their own.
void EmbeddingLayer::PoolCombined(size_t branch, SampleSlice samples, std::span<float> out) {
  const Branch& at = branches_[branch];
  const KindLayout& layout = tables_.features[at.feature].kind->layout();
  Lookups& lookups = lookups_[branch];
  const size_t begin = lookups.offsets[samples.first];
  const size_t count = lookups.offsets[samples.first + samples.count] - begin;
  lookups.parts.resize(at.group.parts);
  for (size_t part = 0; part < at.group.parts; ++part) {
    const RowBatch& batch = row_batches_[Raw(TableOf(branch, part))];
    lookups.parts[part].resize(count * batch.dim);
    GatherRows(Slots(branch, part).subspan(begin, count), batch.values, batch.dim,
               lookups.parts[part]);
  }
  // Lookup p of the branch is combined vector p - begin.
  lookups.combined.resize(count * at.group.width);
  CombineVectors(layout.combine, lookups.parts, count, row_batches_[Raw(TableOf(branch, 0))].dim,
                 lookups.combined);
  PoolBags(ViewOf(branch, samples, PlacesFrom(begin, count)), at.options, lookups.combined,
           at.group.width, out, &lookups.winners[0]);
}

std::span<const uint32_t> EmbeddingLayer::PlacesFrom(size_t begin, size_t count) {
  places_.assign(begin, 0);
  places_.resize(begin + count);
  std::iota(places_.begin() + static_cast<std::ptrdiff_t>(begin), places_.end(), 0u);
  return places_;
}

void EmbeddingLayer::Backward(size_t feature, SampleSlice samples,
                              std::span<const float> gradient) {
  CHECK_EQ(gradient.size(), samples.count * out_width(feature));
  for (size_t branch = first_branch_[feature]; branch < first_branch_[feature + 1]; ++branch) {
    BackwardBranch(branch, samples, gradient);
  }
}

void EmbeddingLayer::BackwardBranch(size_t branch, SampleSlice samples,
                                    std::span<const float> gradient) {
  const Branch& at = branches_[branch];
  const bool trains = !tables_.features[at.feature].table.freeze;
  if (at.projection) AddProjectionGradient(branch, samples, gradient);
  if (!trains || (at.projection && samples.count == 0)) return;
  if (!at.projection && !at.divides) return Unpool(branch, samples, gradient);
  pooled_gradient_.resize(samples.count * at.group.width);
  if (at.projection) {
    const auto rows = static_cast<int64_t>(samples.count);
    products_.Multiply(MatrixOf(gradient.data(), rows, out_width(at.feature)), ProjectionOf(branch),
                       MatrixOf(pooled_gradient_.data(), rows, at.group.width));
  } else {
    std::ranges::copy(gradient, pooled_gradient_.begin());
  }
  Divide(branch, samples, pooled_gradient_);
  Unpool(branch, samples, pooled_gradient_);
}

void EmbeddingLayer::AddProjectionGradient(size_t branch, SampleSlice samples,
                                           std::span<const float> gradient) {
  const Branch& at = branches_[branch];
  const std::span<float> sum = dense_->gradients(projections_[*at.projection].block);
  if (samples.count == 0 || tables_.features[at.feature].table.freeze) {
    if (at.is_first_to_project) std::fill(sum.begin(), sum.end(), 0.0f);
    return;
  }
  const std::vector<float>& pooled = lookups_[branch].pooled;
  CHECK_EQ(pooled.size(), samples.count * at.group.width);
  std::span<float> mine = sum;
  if (!at.is_first_to_project) {
    projection_gradient_.resize(sum.size());
    mine = projection_gradient_;
  }
  const auto rows = static_cast<int64_t>(samples.count);
  products_.Multiply(MatrixOf(gradient.data(), rows, out_width(at.feature)),
                     MatrixOf(pooled.data(), rows, at.group.width),
                     MatrixOf(mine.data(), out_width(at.feature), at.group.width),
                     {.a_transposed = true});
  if (!at.is_first_to_project) AddRow(mine, sum);
}

void EmbeddingLayer::Unpool(size_t branch, SampleSlice samples, std::span<const float> gradient) {
  const Branch& at = branches_[branch];
  const FeatureTable& feature = tables_.features[at.feature];
  const KindLayout& layout = feature.kind->layout();
  const Lookups& lookups = lookups_[branch];
  const size_t parts = at.group.parts;
  if (parts > 1 && !layout.pool_first) return UnpoolCombined(branch, samples, gradient);
  for (size_t part = 0; part < parts; ++part) {
    RowBatch& batch = row_batches_[Raw(TableOf(branch, part))];
    std::span<const float> of_part = gradient;
    if (parts > 1) {
      part_gradient_.resize(samples.count * batch.dim);
      SplitGradient(layout.combine, lookups.parts, part, gradient, samples.count, batch.dim,
                    part_gradient_);
      of_part = part_gradient_;
    }
    if (BagBatch* const on_shards = BagsOf(branch, part)) {
      if (samples.count > 0) {
        PushPooled(on_shards, samples, at.options.pooling == Pooling::kMean, of_part);
      }
      continue;
    }
    const BagView bags = ViewOf(branch, samples, Slots(branch, part));
    AddBagGradients(bags, at.options, of_part, batch.dim, &lookups.winners[part], batch.gradients);
    if (feature.weights) {
      AddWeightGradients(branch, samples,
                         BagWeightGradients(bags, at.options, batch.values, of_part, batch.dim));
    }
  }
}

void EmbeddingLayer::UnpoolCombined(size_t branch, SampleSlice samples,
                                    std::span<const float> gradient) {
  const Branch& at = branches_[branch];
  const FeatureTable& feature = tables_.features[at.feature];
  const KindLayout& layout = feature.kind->layout();
  const Lookups& lookups = lookups_[branch];
  const size_t begin = lookups.offsets[samples.first];
  const size_t count = lookups.offsets[samples.first + samples.count] - begin;
  const BagView bags = ViewOf(branch, samples, PlacesFrom(begin, count));
  combined_gradient_.assign(count * at.group.width, 0.0f);
  AddBagGradients(bags, at.options, gradient, at.group.width, &lookups.winners[0],
                  combined_gradient_);
  if (feature.weights) {
    AddWeightGradients(
        branch, samples,
        BagWeightGradients(bags, at.options, lookups.combined, gradient, at.group.width));
  }
  for (size_t part = 0; part < at.group.parts; ++part) {
    RowBatch& batch = row_batches_[Raw(TableOf(branch, part))];
    part_gradient_.resize(count * batch.dim);
    SplitGradient(layout.combine, lookups.parts, part, combined_gradient_, count, batch.dim,
                  part_gradient_);
    const std::span<const uint32_t> slots = Slots(branch, part).subspan(begin, count);
    for (size_t i = 0; i < count; ++i) {
      AddRow(std::span(part_gradient_).subspan(i * batch.dim, batch.dim),
             std::span(batch.gradients).subspan(size_t{slots[i]} * batch.dim, batch.dim));
    }
  }
}

// `by_lookup`: gradients of the weights of lookups, which are products of sample and id weight.
void EmbeddingLayer::AddWeightGradients(size_t branch, SampleSlice samples,
                                        const std::vector<float>& by_lookup) {
  const Lookups& lookups = lookups_[branch];
  const size_t weights = branches_[branch].group.parts;
  const std::span<const uint32_t> slots = Slots(branch, weights);
  std::vector<float>& gradients = row_batches_[Raw(TableOf(branch, weights))].gradients;
  const size_t end = lookups.offsets[samples.first + samples.count];
  for (size_t p = lookups.offsets[samples.first]; p < end; ++p) {
    const float of_sample = lookups.sample_weights.empty() ? 1.0f : lookups.sample_weights[p];
    gradients[slots[p]] += of_sample * by_lookup[p];
  }
}

}  // namespace rowhouse
