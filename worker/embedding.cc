#include "worker/embedding.h"

#include <algorithm>

#include "worker/embedding_bag.h"

namespace rowhouse {
namespace {

// Names the first id that is not in the table, or OK.
Status CheckIds(const TableSpec& table, const Bags& bags) {
  const auto bad = std::find_if(bags.ids.begin(), bags.ids.end(),
                                [&table](uint64_t id) { return id >= table.rows; });
  if (bad == bags.ids.end()) return OkStatus();
  const auto position = static_cast<uint32_t>(bad - bags.ids.begin());
  // The last bag that begins at or before the position: empty bags share its offset.
  const auto after = std::upper_bound(bags.offsets.begin(), bags.offsets.end(), position);
  return UsageError("table \"{}\", sample {} of the batch: id {} is outside its {} rows",
                    table.name, after - bags.offsets.begin() - 1, *bad, table.rows);
}

}  // namespace

EmbeddingLayer::EmbeddingLayer(const std::vector<TableSpec>& tables)
    : tables_(tables), row_batches_(tables.size()), lookups_(tables.size()) {
  for (size_t k = 0; k < tables_.size(); ++k) {
    row_batches_[k].table = tables_[k].id;
    row_batches_[k].dim = tables_[k].dim;
  }
}

Status EmbeddingLayer::Prepare(const std::vector<Bags>& features) {
  CHECK_EQ(features.size(), tables_.size());
  for (size_t k = 0; k < features.size(); ++k) {
    const Bags& bags = features[k];
    CHECK(!bags.offsets.empty() && bags.offsets.front() == 0);
    CHECK_EQ(bags.offsets.back(), bags.ids.size());
    RETURN_IF_ERROR(CheckIds(tables_[k], bags));
  }
  for (size_t k = 0; k < features.size(); ++k) {
    RowBatch& batch = row_batches_[k];
    lookups_[k].offsets = features[k].offsets;
    merge_.Merge(features[k].ids, &batch.rows, &batch.counts, &lookups_[k].slots);
    batch.values.resize(batch.rows.size() * batch.dim);
  }
  return OkStatus();
}

void EmbeddingLayer::Forward(size_t feature, std::span<float> out) const {
  const Lookup& lookup = lookups_[feature];
  const RowBatch& batch = row_batches_[feature];
  CHECK_EQ(batch.values.size(), batch.rows.size() * batch.dim);
  SumBags({.offsets = lookup.offsets, .slots = lookup.slots}, batch.values, batch.dim, out);
}

void EmbeddingLayer::Backward(size_t feature, std::span<const float> gradient) {
  const Lookup& lookup = lookups_[feature];
  RowBatch& batch = row_batches_[feature];
  batch.gradients.assign(batch.rows.size() * batch.dim, 0.0f);
  AddSumGradients({.offsets = lookup.offsets, .slots = lookup.slots}, gradient, batch.dim,
                  batch.gradients);
}

}  // namespace rowhouse
