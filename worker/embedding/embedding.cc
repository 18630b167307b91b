#include "worker/embedding/embedding.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/kernels/reductions.h"
#include "common/kernels/row_updates.h"

namespace rowhouse {

void EmbeddingLayer::IdBuffer::Clear() {
  offsets.assign(1, 0);
  ids.clear();
  weights.clear();
}

EmbeddingLayer::EmbeddingLayer(const EmbeddingTables& tables, DenseParameters* dense,
                               const std::vector<bool>& pools_on_shards)
    : tables_(tables),
      lookups_(tables_),
      context_{.lookups = lookups_, .dense = *dense},
      features_(tables_.features.size()) {
  AddBagBatches(pools_on_shards);
  BagBatch* next_bags = bag_batches_.data();
  for (size_t k = 0; k < features_.size(); ++k) AddBranches(k, pools_on_shards, &next_bags);
}

void EmbeddingLayer::AddBagBatches(const std::vector<bool>& pools_on_shards) {
  if (pools_on_shards.empty()) return;
  for (const FeatureTable& feature : tables_.features) {
    const BagOptions options = PoolingOf(feature);
    for (const TableId part : feature.parts) {
      if (!pools_on_shards[Raw(part)]) continue;
      const TableSpec& table = tables_.physical[Raw(part)];
      BagBatch& bags = bag_batches_.emplace_back();
      bags.table = part;
      bags.dim = table.dim;
      bags.table_rows = table.rows;
      bags.pooling = options.pooling;
      bags.exact = options.exact;
      bags.trains = !tables_.is_frozen[Raw(part)];
    }
  }
}

// *next_bags: the first of bag_batches_ that no earlier feature has.
void EmbeddingLayer::AddBranches(size_t feature, const std::vector<bool>& pools_on_shards,
                                 BagBatch** next_bags) {
  const FeatureTable& table = tables_.features[feature];
  std::vector<BagBatch*> bags;  // of each part of the feature
  for (const TableId part : table.parts) {
    const bool is_pooled = !pools_on_shards.empty() && pools_on_shards[Raw(part)];
    bags.push_back(is_pooled ? (*next_bags)++ : nullptr);
  }
  for (const IdGroup& group : table.groups) {
    std::optional<Branch::Projection> projection;
    if (group.projects) projection = ProjectionOf(feature, group);
    const auto first = bags.begin() + group.first_part;
    features_[feature].branches.emplace_back(
        table, group, projection, std::vector<BagBatch*>(first, first + group.parts), context_);
  }
}

Branch::Projection EmbeddingLayer::ProjectionOf(size_t feature, const IdGroup& group) {
  DenseParameters& dense = context_.dense;
  const auto known = std::ranges::find_if(projections_, [&](const Projection& other) {
    return dense.blocks()[other.block].name == group.projection;
  });
  if (known != projections_.end()) return {.block = known->block, .is_shared = true};
  const KindLayout& layout = tables_.features[feature].kind->layout();
  const InitialValues initial_values = layout.projection_initialiser == "xavier_uniform"
                                           ? InitialValues::kXavierUniform
                                           : InitialValues::kXavierNormal;
  const size_t block = dense.Add(group.projection, layout.out_width, group.width, initial_values);
  projections_.push_back({.feature = feature, .block = block});
  return {.block = block};
}

Status EmbeddingLayer::CheckBags(size_t feature, const Bags& bags) const {
  const LogicalTable& table = tables_.features[feature].table;
  CHECK(!bags.offsets.empty() && bags.offsets.front() == 0);
  CHECK_EQ(bags.offsets.back(), bags.ids.size());
  if (!bags.weights.empty()) {
    CHECK_EQ(bags.weights.size(), bags.ids.size());
    if (table.pooling != "sum") {
      return UsageError("table \"{}\": the data bring per-sample weights, which need pooling=sum",
                        table.name);
    }
  }
  if (table.bad_ids != "error") return OkStatus();
  const auto bad = std::ranges::find_if(bags.ids, [&](uint64_t id) { return id >= table.rows; });
  if (bad == bags.ids.end()) return OkStatus();
  const auto position = static_cast<uint32_t>(bad - bags.ids.begin());
  // The last bag that begins at or before the position: empty bags share its offset.
  const auto after = std::ranges::upper_bound(bags.offsets, position);
  return UsageError(
      "table \"{}\", sample {} of the batch: id {} is outside its {} rows; bad_ids: modulo or "
      "padding accepts such ids",
      table.name, after - bags.offsets.begin() - 1, *bad, table.rows);
}

Status EmbeddingLayer::Prepare(const std::vector<Bags>& features) {
  CHECK_EQ(features.size(), tables_.columns());
  for (size_t k = 0; k < features.size(); ++k) RETURN_IF_ERROR(CheckBags(k, features[k]));
  lookups_.Clear();
  for (size_t k = 0; k < features_.size(); ++k) {
    Assign(k, KeepIds(k, features[tables_.ColumnOf(k)]));
  }
  lookups_.Merge();
  return OkStatus();
}

// The ids that are looked up: padding is left out, and ids beyond the table, as its bad_ids says,
// are left out or taken modulo its rows. Good until the next call.
ResolvedIds EmbeddingLayer::KeepIds(size_t feature, const Bags& bags) {
  const LogicalTable& table = tables_.features[feature].table;
  if (!table.padding_id && table.bad_ids == "error") {
    return {.offsets = bags.offsets, .ids = bags.ids, .weights = bags.weights};
  }
  kept_.Clear();
  for (size_t b = 0; b < bags.samples(); ++b) {
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      uint64_t id = bags.ids[p];
      if (id >= table.rows) {
        if (table.bad_ids == "padding") continue;
        id %= table.rows;
      }
      if (table.padding_id == id) continue;
      kept_.ids.push_back(id);
      if (!bags.weights.empty()) kept_.weights.push_back(bags.weights[p]);
    }
    kept_.offsets.push_back(static_cast<uint32_t>(kept_.ids.size()));
  }
  return kept_.view();
}

// Gives each branch of the feature the ids of its group.
void EmbeddingLayer::Assign(size_t feature, const ResolvedIds& ids) {
  auto& [branches, members] = features_[feature];
  const size_t bags = ids.offsets.size() - 1;
  members.resize(bags);
  for (size_t b = 0; b < bags; ++b) members[b] = ids.offsets[b + 1] - ids.offsets[b];
  if (branches.size() == 1) return branches[0].Resolve(ids, members);
  groups_of_ids_.resize(ids.ids.size());
  tables_.features[feature].kind->Assign(ids.ids, groups_of_ids_);
  for (size_t group = 0; group < branches.size(); ++group) {
    of_branch_.Clear();
    for (size_t b = 0; b < bags; ++b) {
      for (size_t p = ids.offsets[b]; p < ids.offsets[b + 1]; ++p) {
        if (groups_of_ids_[p] != group) continue;
        of_branch_.ids.push_back(ids.ids[p]);
        if (!ids.weights.empty()) of_branch_.weights.push_back(ids.weights[p]);
      }
      of_branch_.offsets.push_back(static_cast<uint32_t>(of_branch_.ids.size()));
    }
    branches[group].Resolve(of_branch_.view(), members);
  }
}

void EmbeddingLayer::ReadFrom(TableId table, const RowsView& rows) {
  const TableSpec& spec = tables_.physical[Raw(table)];
  CHECK_LT(spec.rows, uint64_t{1} << 32);
  CHECK_EQ(rows.bytes.size(), spec.rows * BytesOfRow(rows.bits, spec.dim));
  CHECK_EQ(spec.max_norm, 0.0);
  lookups_.ReadFrom(table, rows);
}

void EmbeddingLayer::RowsArrived() {
  for (BagBatch& bags : bag_batches_) {
    CHECK_EQ(bags.pooled.size(), bags.bags() * bags.dim);
    bags.gradients.assign(bags.pooled.size(), 0.0f);
  }
  for (RowBatch& batch : lookups_.batches()) {
    CHECK_EQ(batch.values.size(), batch.rows.size() * batch.dim);
    const TableSpec& table = tables_.physical[Raw(batch.table)];
    if (table.max_norm > 0.0) {
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        RenormaliseRow(table.max_norm, table.norm_type,
                       std::span(batch.values).subspan(r * batch.dim, batch.dim));
      }
    }
    batch.gradients.assign(batch.trains ? batch.values.size() : 0, 0.0f);
  }
}

void EmbeddingLayer::Forward(size_t feature, SampleSlice samples, std::span<float> out) {
  CHECK_EQ(out.size(), samples.count * out_width(feature));
  std::vector<Branch>& branches = features_[feature].branches;
  branches[0].Forward(samples, out);
  for (size_t branch = 1; branch < branches.size(); ++branch) {
    branch_out_.resize(out.size());
    branches[branch].Forward(samples, branch_out_);
    AddRow(branch_out_, out);
  }
}

void EmbeddingLayer::Backward(size_t feature, SampleSlice samples,
                              std::span<const float> gradient) {
  CHECK_EQ(gradient.size(), samples.count * out_width(feature));
  for (Branch& branch : features_[feature].branches) branch.Backward(samples, gradient);
}

}  // namespace rowhouse
