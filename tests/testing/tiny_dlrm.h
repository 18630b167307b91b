// The cases of dlrm_tiny.json as model, embedding layer and batches: DLRM in one process. Its rows
// are in plain arrays instead of a parameter server.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/dense/dlrm_model.h"
#include "worker/embedding/embedding.h"

namespace rowhouse {

inline std::vector<float> Flatten(const nlohmann::json& array) {
  std::vector<float> values;
  if (!array.is_array()) return {array.get<float>()};
  for (const auto& element : array) {
    const std::vector<float> inner = Flatten(element);
    values.insert(values.end(), inner.begin(), inner.end());
  }
  return values;
}

// {"bot": [{W, b}], "top": [{W, b}]} in the order of DlrmModel's blocks.
inline std::vector<float> FlatMlps(const nlohmann::json& mlps) {
  std::vector<float> values;
  for (const char* mlp : {"bot", "top"}) {
    for (const auto& layer : mlps.at(mlp)) {
      for (const char* part : {"W", "b"}) {
        const std::vector<float> flat = Flatten(layer.at(part));
        values.insert(values.end(), flat.begin(), flat.end());
      }
    }
  }
  return values;
}

inline ModelSpec TinySpec(const nlohmann::json& c) {
  ModelSpec spec;
  spec.bottom_mlp = c.at("ln_bot").get<std::vector<uint32_t>>();
  const auto top = c.at("ln_top").get<std::vector<uint32_t>>();
  spec.top_mlp.assign(top.begin() + 1, top.end());
  spec.feature_widths.assign(c.at("ln_emb").size(), c.at("m_spa").get<uint32_t>());
  spec.interaction = c.at("interaction").get<std::string>();
  spec.interaction_itself = c.at("itself").get<bool>();
  spec.loss = c.at("loss").get<std::string>();
  if (c.contains("loss_weights") && !c.at("loss_weights").is_null()) {
    spec.loss_weights = c.at("loss_weights").get<std::vector<double>>();
  }
  return spec;
}

inline EmbeddingTables TinyTables(const nlohmann::json& c) {
  std::vector<LogicalTable> tables;
  for (const auto& rows : c.at("ln_emb")) {
    LogicalTable table;
    table.name = "table" + std::to_string(tables.size());
    table.rows = rows.get<uint64_t>();
    table.dim = c.at("m_spa").get<uint32_t>();
    tables.push_back(table);
  }
  return EmbeddingTables::Make(tables).value();
}

// {X, offsets (without the last), indices, T}
inline Batch TinyBatch(const nlohmann::json& b) {
  Batch batch;
  batch.dense = Flatten(b.at("X"));
  batch.labels = Flatten(b.at("T"));
  batch.samples = batch.labels.size();
  batch.dense_features = batch.dense.size() / batch.samples;
  for (size_t k = 0; k < b.at("indices").size(); ++k) {
    Bags bags;
    bags.ids = b["indices"][k].get<std::vector<uint64_t>>();
    bags.offsets = b["offsets"][k].get<std::vector<uint32_t>>();
    bags.offsets.push_back(static_cast<uint32_t>(bags.ids.size()));
    batch.features.push_back(bags);
  }
  return batch;
}

// (row's gradient, row's weights, row's number) -> changes the weights.
using RowUpdate =
    std::function<void(size_t table, std::span<const float> g, size_t row, std::span<float> w)>;

class TinyDlrm {
 public:
  explicit TinyDlrm(const nlohmann::json& c) : TinyDlrm(c, TinySpec(c)) {}
  // with_top = false: the caller fills the parameters of the top MLP.
  TinyDlrm(const nlohmann::json& c, const ModelSpec& spec, bool with_top = true)
      : dim_(spec.feature_widths.front()), model(spec, &dense), embedding(TinyTables(c), &dense) {
    dense.Allocate();
    for (const auto& table : c.at("params").at("emb")) tables.push_back(Flatten(table));
    nlohmann::json params = c.at("params");
    if (!with_top) params["top"] = nlohmann::json::array();
    const std::vector<float> mlps = FlatMlps(params);
    if (with_top) CHECK_EQ(mlps.size(), dense.size());
    CHECK_LE(mlps.size(), dense.size());
    std::copy(mlps.begin(), mlps.end(), dense.values().begin());
  }

  std::vector<float> Forward(const Batch& batch) {
    const Status status = embedding.Prepare(batch.features);
    CHECK(status.ok()) << status.ToString();
    for (size_t k = 0; k < tables.size(); ++k) {
      RowBatch& rows = embedding.row_batches()[k];
      for (size_t r = 0; r < rows.rows.size(); ++r) {
        std::copy_n(&tables[k][Raw(rows.rows[r]) * dim_], dim_, &rows.values[r * dim_]);
      }
    }
    embedding.RowsArrived();
    pooled.resize(tables.size());
    for (size_t k = 0; k < tables.size(); ++k) {
      pooled[k].resize(batch.samples * dim_);
      embedding.Forward(k, {0, batch.samples}, pooled[k]);
    }
    const auto p = model.Forward(batch.dense, batch.samples, pooled);
    return {p.begin(), p.end()};
  }

  void Backward(const Batch& batch) {
    std::vector<std::vector<float>> gradients;
    model.Backward(batch.labels, batch.samples, &gradients);
    for (size_t k = 0; k < tables.size(); ++k)
      embedding.Backward(k, {0, batch.samples}, gradients[k]);
  }

  // The gradient of a whole table; zeros for rows the batch did not touch.
  std::vector<float> TableGradient(size_t table) {
    std::vector<float> gradient(tables[table].size(), 0.0f);
    const RowBatch& rows = embedding.row_batches()[table];
    for (size_t r = 0; r < rows.rows.size(); ++r) {
      std::copy_n(&rows.gradients[r * dim_], dim_, &gradient[Raw(rows.rows[r]) * dim_]);
    }
    return gradient;
  }

  void UpdateRows(const RowUpdate& update) {
    for (size_t k = 0; k < tables.size(); ++k) {
      const RowBatch& rows = embedding.row_batches()[k];
      for (size_t r = 0; r < rows.rows.size(); ++r) {
        update(k, std::span(rows.gradients).subspan(r * dim_, dim_), Raw(rows.rows[r]),
               std::span(tables[k]).subspan(Raw(rows.rows[r]) * dim_, dim_));
      }
    }
  }

 private:
  const uint32_t dim_;

 public:
  DenseParameters dense;
  DlrmModel model;
  EmbeddingLayer embedding;
  std::vector<std::vector<float>> tables;  // rows x dim each
  std::vector<std::vector<float>> pooled;  // of the last Forward
};

}  // namespace rowhouse
