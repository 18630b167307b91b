#include "worker/embedding/batch_lookups.h"

namespace rowhouse {

BatchLookups::BatchLookups(const EmbeddingTables& tables)
    : batches_(tables.physical.size()),
      lookups_(tables.physical.size()),
      slots_(tables.physical.size()),
      whole_(tables.physical.size()) {
  for (size_t t = 0; t < batches_.size(); ++t) {
    batches_[t].table = tables.physical[t].id;
    batches_[t].dim = tables.physical[t].dim;
    batches_[t].trains = !tables.is_frozen[t];
  }
}

void BatchLookups::Clear() {
  for (std::vector<uint64_t>& rows : lookups_) rows.clear();
}

std::span<uint64_t> BatchLookups::Add(TableId table, size_t count, size_t* first) {
  std::vector<uint64_t>& rows = lookups_[Raw(table)];
  *first = rows.size();
  rows.resize(rows.size() + count);
  return std::span(rows).last(count);
}

void BatchLookups::Merge() {
  for (size_t t = 0; t < batches_.size(); ++t) {
    RowBatch& batch = batches_[t];
    if (whole_[t].bytes.data() != nullptr) {
      slots_[t].assign(lookups_[t].begin(), lookups_[t].end());
      continue;
    }
    merge_.Merge(lookups_[t], &batch.rows, &batch.counts, &slots_[t]);
    batch.values.resize(batch.rows.size() * batch.dim);
  }
}

}  // namespace rowhouse
