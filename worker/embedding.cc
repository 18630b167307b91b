#include "worker/embedding.h"

#include <algorithm>
#include <numeric>

#include "common/kernels/row_norm.h"
#include "common/kernels/row_updates.h"
#include "worker/combine.h"

namespace rowhouse {
namespace {

Pooling PoolingOf(const LogicalTable& table) {
  if (table.pooling == "mean") return Pooling::kMean;
  return table.pooling == "max" ? Pooling::kMax : Pooling::kSum;
}

BagOptions OptionsOf(const LogicalTable& table) {
  return {.pooling = PoolingOf(table), .exact = table.pooling_sum == "exact"};
}

// Floats of the vector of one part.
uint32_t PartDim(const FeatureTable& feature, size_t part) {
  const KindLayout& layout = feature.kind->layout();
  return layout.tables[layout.parts[part]].spec.dim;
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
      projection_of_(tables.features.size(), -1),
      row_batches_(tables.physical.size()),
      lookups_(tables.features.size()),
      ids_(tables.physical.size()),
      slots_(tables.physical.size()) {
  for (size_t t = 0; t < row_batches_.size(); ++t) {
    row_batches_[t].table = tables_.physical[t].id;
    row_batches_[t].dim = tables_.physical[t].dim;
    row_batches_[t].trains = !tables_.is_frozen[t];
  }
  for (size_t k = 0; k < tables_.features.size(); ++k) {
    const FeatureTable& feature = tables_.features[k];
    const KindLayout& layout = feature.kind->layout();
    std::vector<int64_t>& bags_of_parts = bags_of_.emplace_back();
    for (const TableId part : feature.parts) {
      const bool is_pooled = !pools_on_shards.empty() && pools_on_shards[Raw(part)];
      bags_of_parts.push_back(is_pooled ? static_cast<int64_t>(bag_batches_.size()) : -1);
      if (!is_pooled) continue;
      BagBatch bags;
      bags.table = part;
      bags.dim = tables_.physical[Raw(part)].dim;
      bags.table_rows = tables_.physical[Raw(part)].rows;
      bags.pooling = PoolingOf(feature.table);
      bags.exact = OptionsOf(feature.table).exact;
      bags.trains = !tables_.is_frozen[Raw(part)];
      bag_batches_.push_back(std::move(bags));
    }
    if (!layout.projects) continue;
    const FirstValues first = layout.projection_initialiser == "xavier_uniform"
                                  ? FirstValues::kXavierUniform
                                  : FirstValues::kXavierNormal;
    projection_of_[k] = static_cast<int64_t>(projections_.size());
    projections_.push_back({.feature = k,
                            .block = dense_->Add(feature.table.name + ".projection",
                                                 layout.out_width, layout.width, first)});
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
  Lookups& lookups = lookups_[feature];
  lookups.first.clear();
  std::span<const uint64_t> ids = bags.ids;
  const bool drops = table.padding_id.has_value() || table.bad_ids == "padding";
  if (!drops && table.bad_ids == "error") {
    lookups.offsets = bags.offsets;
    lookups.sample_weights = bags.weights;
  } else {
    kept_ids_.clear();
    lookups.offsets.assign(1, 0);
    lookups.sample_weights.clear();
    for (size_t b = 0; b < bags.samples(); ++b) {
      for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
        uint64_t id = bags.ids[p];
        if (id >= table.rows) {
          if (table.bad_ids == "padding") continue;
          id %= table.rows;
        }
        if (table.padding_id == id) continue;
        kept_ids_.push_back(id);
        if (!bags.weights.empty()) lookups.sample_weights.push_back(bags.weights[p]);
      }
      lookups.offsets.push_back(static_cast<uint32_t>(kept_ids_.size()));
    }
    ids = kept_ids_;
  }
  for (size_t part = 0; part < at.parts.size(); ++part) {
    if (BagBatch* const on_shards = BagsOf(feature, part)) {
      lookups.first.push_back(0);
      on_shards->offsets = lookups.offsets;
      on_shards->weights = lookups.sample_weights;
      on_shards->rows.resize(ids.size());
      at.kind->Resolve(part, ids, on_shards->rows);
      continue;
    }
    std::vector<uint64_t>& rows = ids_[Raw(at.parts[part])];
    lookups.first.push_back(rows.size());
    rows.resize(rows.size() + ids.size());
    at.kind->Resolve(part, ids, std::span(rows).last(ids.size()));
  }
  if (at.weights) {
    std::vector<uint64_t>& rows = ids_[Raw(*at.weights)];
    lookups.first.push_back(rows.size());
    rows.insert(rows.end(), ids.begin(), ids.end());
  }
}

BagBatch* EmbeddingLayer::BagsOf(size_t feature, size_t part) {
  const int64_t place = bags_of_[feature][part];
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

std::span<const uint32_t> EmbeddingLayer::Slots(size_t feature, size_t part) const {
  const FeatureTable& at = tables_.features[feature];
  const TableId table = part < at.parts.size() ? at.parts[part] : *at.weights;
  return std::span(slots_[Raw(table)])
      .subspan(lookups_[feature].first[part], lookups_[feature].offsets.back());
}

void EmbeddingLayer::WeighLookups(size_t feature) {
  const FeatureTable& at = tables_.features[feature];
  Lookups& lookups = lookups_[feature];
  lookups.weights = lookups.sample_weights;
  if (!at.weights) return;
  const std::span<const uint32_t> slots = Slots(feature, at.parts.size());
  const std::vector<float>& values = row_batches_[Raw(*at.weights)].values;
  if (lookups.weights.empty()) lookups.weights.assign(slots.size(), 1.0f);
  for (size_t p = 0; p < slots.size(); ++p) lookups.weights[p] *= values[slots[p]];
}

BagView EmbeddingLayer::ViewOf(size_t feature, SampleSlice samples,
                               std::span<const uint32_t> slots) const {
  const Lookups& lookups = lookups_[feature];
  return {.offsets = std::span(lookups.offsets).subspan(samples.first, samples.count + 1),
          .slots = slots,
          .weights = lookups.weights};
}

void EmbeddingLayer::Forward(size_t feature, SampleSlice samples, std::span<float> out) {
  const KindLayout& layout = tables_.features[feature].kind->layout();
  CHECK_EQ(out.size(), samples.count * layout.out_width);
  WeighLookups(feature);
  if (!layout.projects) return Pool(feature, samples, out);
  std::vector<float>& pooled = lookups_[feature].pooled;
  pooled.resize(samples.count * layout.width);
  Pool(feature, samples, pooled);
  if (samples.count == 0) return;
  const size_t block = projections_[static_cast<size_t>(projection_of_[feature])].block;
  products_.Multiply({.rows = static_cast<int64_t>(samples.count),
                      .inner = layout.width,
                      .columns = layout.out_width,
                      .b_transposed = true},
                     pooled.data(), dense_->values(block).data(), nullptr, out.data());
}

void EmbeddingLayer::Pool(size_t feature, SampleSlice samples, std::span<float> out) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  Lookups& lookups = lookups_[feature];
  const size_t parts = at.parts.size();
  lookups.winners.resize(parts);
  if (parts > 1 && !layout.pool_first) return PoolCombined(feature, samples, out);
  lookups.parts.resize(parts);
  for (size_t part = 0; part < parts; ++part) {
    const RowBatch& batch = row_batches_[Raw(at.parts[part])];
    std::span<float> pooled = out;
    if (parts > 1) {
      lookups.parts[part].resize(samples.count * batch.dim);
      pooled = lookups.parts[part];
    }
    if (const BagBatch* const on_shards = BagsOf(feature, part)) {
      if (samples.count > 0) {
        TakePooled(*on_shards, samples, PoolingOf(at.table) == Pooling::kMean, pooled);
      }
      continue;
    }
    PoolBags(ViewOf(feature, samples, Slots(feature, part)), OptionsOf(at.table), batch.values,
             batch.dim, pooled, &lookups.winners[part]);
  }
  if (parts > 1) {
    CombineVectors(layout.combine, lookups.parts, samples.count, PartDim(at, 0), out);
  }
}

// Per id: the vectors of all lookups of the samples are combined, then pooled as rows of their own.
void EmbeddingLayer::PoolCombined(size_t feature, SampleSlice samples, std::span<float> out) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  Lookups& lookups = lookups_[feature];
  const size_t begin = lookups.offsets[samples.first];
  const size_t count = lookups.offsets[samples.first + samples.count] - begin;
  lookups.parts.resize(at.parts.size());
  for (size_t part = 0; part < at.parts.size(); ++part) {
    const RowBatch& batch = row_batches_[Raw(at.parts[part])];
    lookups.parts[part].resize(count * batch.dim);
    GatherRows(Slots(feature, part).subspan(begin, count), batch.values, batch.dim,
               lookups.parts[part]);
  }
  // Lookup p of the feature is combined vector p - begin.
  lookups.combined.resize(count * layout.width);
  CombineVectors(layout.combine, lookups.parts, count, PartDim(at, 0), lookups.combined);
  PoolBags(ViewOf(feature, samples, PlacesFrom(begin, count)), OptionsOf(at.table),
           lookups.combined, layout.width, out, &lookups.winners[0]);
}

std::span<const uint32_t> EmbeddingLayer::PlacesFrom(size_t begin, size_t count) {
  places_.assign(begin, 0);
  places_.resize(begin + count);
  std::iota(places_.begin() + static_cast<std::ptrdiff_t>(begin), places_.end(), 0u);
  return places_;
}

void EmbeddingLayer::Backward(size_t feature, SampleSlice samples,
                              std::span<const float> gradient) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  CHECK_EQ(gradient.size(), samples.count * layout.out_width);
  if (!layout.projects) {
    if (!at.table.freeze) Unpool(feature, samples, gradient);
    return;
  }
  const size_t block = projections_[static_cast<size_t>(projection_of_[feature])].block;
  const std::span<float> projection_gradient = dense_->gradients(block);
  if (samples.count == 0 || at.table.freeze) {
    std::fill(projection_gradient.begin(), projection_gradient.end(), 0.0f);
    return;
  }
  const std::vector<float>& pooled = lookups_[feature].pooled;
  CHECK_EQ(pooled.size(), samples.count * layout.width);
  const auto rows = static_cast<int64_t>(samples.count);
  products_.Multiply(
      {.rows = layout.out_width, .inner = rows, .columns = layout.width, .a_transposed = true},
      gradient.data(), pooled.data(), nullptr, projection_gradient.data());
  pooled_gradient_.resize(pooled.size());
  products_.Multiply({.rows = rows, .inner = layout.out_width, .columns = layout.width},
                     gradient.data(), dense_->values(block).data(), nullptr,
                     pooled_gradient_.data());
  Unpool(feature, samples, pooled_gradient_);
}

void EmbeddingLayer::Unpool(size_t feature, SampleSlice samples, std::span<const float> gradient) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  const Lookups& lookups = lookups_[feature];
  const size_t parts = at.parts.size();
  if (parts > 1 && !layout.pool_first) return UnpoolCombined(feature, samples, gradient);
  for (size_t part = 0; part < parts; ++part) {
    RowBatch& batch = row_batches_[Raw(at.parts[part])];
    std::span<const float> of_part = gradient;
    if (parts > 1) {
      part_gradient_.resize(samples.count * batch.dim);
      SplitGradient(layout.combine, lookups.parts, part, gradient, samples.count, batch.dim,
                    part_gradient_);
      of_part = part_gradient_;
    }
    if (BagBatch* const on_shards = BagsOf(feature, part)) {
      if (samples.count > 0) {
        PushPooled(on_shards, samples, PoolingOf(at.table) == Pooling::kMean, of_part);
      }
      continue;
    }
    const BagView bags = ViewOf(feature, samples, Slots(feature, part));
    AddBagGradients(bags, OptionsOf(at.table), of_part, batch.dim, &lookups.winners[part],
                    batch.gradients);
    if (at.weights) {
      AddWeightGradients(
          feature, samples,
          BagWeightGradients(bags, OptionsOf(at.table), batch.values, of_part, batch.dim));
    }
  }
}

void EmbeddingLayer::UnpoolCombined(size_t feature, SampleSlice samples,
                                    std::span<const float> gradient) {
  const FeatureTable& at = tables_.features[feature];
  const KindLayout& layout = at.kind->layout();
  const Lookups& lookups = lookups_[feature];
  const size_t begin = lookups.offsets[samples.first];
  const size_t count = lookups.offsets[samples.first + samples.count] - begin;
  const BagView bags = ViewOf(feature, samples, PlacesFrom(begin, count));
  combined_gradient_.assign(count * layout.width, 0.0f);
  AddBagGradients(bags, OptionsOf(at.table), gradient, layout.width, &lookups.winners[0],
                  combined_gradient_);
  if (at.weights) {
    AddWeightGradients(
        feature, samples,
        BagWeightGradients(bags, OptionsOf(at.table), lookups.combined, gradient, layout.width));
  }
  for (size_t part = 0; part < at.parts.size(); ++part) {
    RowBatch& batch = row_batches_[Raw(at.parts[part])];
    part_gradient_.resize(count * batch.dim);
    SplitGradient(layout.combine, lookups.parts, part, combined_gradient_, count, batch.dim,
                  part_gradient_);
    const std::span<const uint32_t> slots = Slots(feature, part).subspan(begin, count);
    for (size_t i = 0; i < count; ++i) {
      AddRow(std::span(part_gradient_).subspan(i * batch.dim, batch.dim),
             std::span(batch.gradients).subspan(size_t{slots[i]} * batch.dim, batch.dim));
    }
  }
}

// `by_lookup`: gradients of the weights of lookups, which are products of sample and id weight.
void EmbeddingLayer::AddWeightGradients(size_t feature, SampleSlice samples,
                                        const std::vector<float>& by_lookup) {
  const FeatureTable& at = tables_.features[feature];
  const Lookups& lookups = lookups_[feature];
  const std::span<const uint32_t> slots = Slots(feature, at.parts.size());
  std::vector<float>& gradients = row_batches_[Raw(*at.weights)].gradients;
  const size_t end = lookups.offsets[samples.first + samples.count];
  for (size_t p = lookups.offsets[samples.first]; p < end; ++p) {
    const float of_sample = lookups.sample_weights.empty() ? 1.0f : lookups.sample_weights[p];
    gradients[slots[p]] += of_sample * by_lookup[p];
  }
}

}  // namespace rowhouse
