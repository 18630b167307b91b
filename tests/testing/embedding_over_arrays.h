// An EmbeddingLayer whose rows lie in plain arrays, one a physical table, instead of on shards.
#pragma once

#include <algorithm>
#include <vector>

#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {

class EmbeddingOverArrays {
 public:
  // All rows and projections are zeros.
  explicit EmbeddingOverArrays(const std::vector<LogicalTable>& logical)
      : EmbeddingOverArrays(EmbeddingTables::Make(logical).value()) {}
  explicit EmbeddingOverArrays(const EmbeddingTables& of_model) : embedding(of_model, &dense) {
    dense.Allocate();
    for (const TableSpec& table : embedding.tables().physical) {
      tables.emplace_back(table.rows * table.dim, 0.0f);
    }
  }

  // Fetches the rows, once for the batch; then Forward of every feature.
  std::vector<std::vector<float>> Forward(const std::vector<Bags>& features) {
    Fetch(features);
    std::vector<std::vector<float>> out;
    for (size_t k = 0; k < features.size(); ++k) {
      out.push_back(ForwardOf(k, {0, features[k].samples()}));
    }
    return out;
  }

  void Fetch(const std::vector<Bags>& features) {
    const Status status = embedding.Prepare(features);
    CHECK(status.ok()) << status.ToString();
    for (size_t t = 0; t < tables.size(); ++t) {
      RowBatch& batch = embedding.row_batches()[t];
      for (size_t r = 0; r < batch.rows.size(); ++r) {
        std::copy_n(&tables[t].at(Raw(batch.rows[r]) * batch.dim), batch.dim,
                    &batch.values[r * batch.dim]);
      }
    }
    embedding.RowsArrived();
  }

  std::vector<float> ForwardOf(size_t feature, SampleSlice samples) {
    std::vector<float> out(samples.count * embedding.out_width(feature), -1.0f);
    embedding.Forward(feature, samples, out);
    return out;
  }

  // Gradients of a whole physical table; zeros for rows the batch did not touch.
  std::vector<float> TableGradient(size_t table) const {
    std::vector<float> gradient(tables[table].size(), 0.0f);
    const RowBatch& batch = embedding.row_batches()[table];
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      std::copy_n(&batch.gradients[r * batch.dim], batch.dim,
                  &gradient[Raw(batch.rows[r]) * batch.dim]);
    }
    return gradient;
  }

  DenseParameters dense;  // the projections
  EmbeddingLayer embedding;
  std::vector<std::vector<float>> tables;  // rows x dim each
};

inline Bags BagsOf(std::vector<uint32_t> offsets, std::vector<uint64_t> ids,
                   std::vector<float> weights = {}) {
  Bags bags;
  bags.offsets = std::move(offsets);
  bags.ids = std::move(ids);
  bags.weights = std::move(weights);
  return bags;
}

}  // namespace rowhouse
