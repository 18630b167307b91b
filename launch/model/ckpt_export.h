// ckpt export: a saved model as files that other programs read (docs/predict.md): its tables and
// dense parameters, and export.json, which lists them (export_index.h).
//
//   emb_l.<k>.weight.npy   logical table k as the model looks its ids up, ids x width: parts
//                          combined, weights of ids and max_norm applied, projected; an id that is
//                          padding is a row of zeros. A bag of ids is pooled of these rows, but
//                          where a kind pools first or projects a max
//   table-<name>.npy       with `is_stored`: the physical tables instead, as f32, rows x dim
//   bot_l.0.weight.npy     a dense parameter by torch's name; biases have one dimension
//
// Tables are streamed: no large one is held in memory. Written as <out>.<16 hex digits>.tmp and
// renamed when all is whole; a killed process leaves that. Threads: one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/model/saved_weights.h"
#include "launch/settings/settings.h"

namespace rowhouse {

struct ExportOptions {
  std::string out;             // a directory that is made
  std::string format = "npy";  // of MatrixFormats()
  bool is_stored = false;
  Untrained untrained = Untrained::kInitial;
  std::vector<std::string> tables = {};  // logical tables, or physical ones; empty: all
  bool prints = true;                    // a line for each table
};

// `settings`: those of the model in settings.output.model_dir. *json: {out, bytes, tables}. kUsage
// if `out` exists or cannot be made, for an unknown table or format, or if the files would not fit
// the disk; else the errors of SavedWeights; kResourceExhausted for a full disk.
Status ExportModel(const Settings& settings, const ExportOptions& options,
                   nlohmann::ordered_json* json);

}  // namespace rowhouse
