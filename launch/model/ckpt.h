// rowhouse ckpt: looks into a saved model and compacts its rows.
//
//   ckpt inspect TABLE TOKEN  the rows of a token of the data: where each lies, how often it was
//                           looked up, weights and state. row=NUMBER names a row; for tables whose
//                           data had ids and no tokens, NUMBER does
//   ckpt stats              tables and shards: rows, bytes, levels, files, what its run pulled
//   ckpt verify             whether a save and its checkpoints are whole
//   ckpt compact            rewrites each shard's files so that each row is there once
//   ckpt export [TABLE ...] tables and dense parameters as files that other programs read
//
// All but compact change nothing in the model. Each action is a file of its name; what it finds is
// delivered when all of it is found. Threads: the main thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/kernels/quantised_rows.h"
#include "common/status.h"
#include "launch/figures/figures.h"
#include "launch/model/saved_rows.h"
#include "launch/model/saved_weights.h"
#include "launch/settings/settings.h"
#include "ps/shard/node_options.h"
#include "ps/store/row_store.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {

// What the flags say that are no settings.
struct CkptFlags {
  std::string compression = "";  // of compact; "": what each shard's files have
  std::string json = "";         // where figures go (launch/figures/json_output.h)
  // Of export.
  std::string out = "";
  std::string format = "npy";
  bool is_stored = false;
  std::string untrained = "initial";
  std::string step = "";      // see UseSave (launch/model/scoring_model.h)
  std::string row_bits = "";  // see FindQuantisedBits (launch/model/model_rows.h)
};

// `arguments`: {"inspect", TABLE, TOKEN}, {"stats"}, {"compact"} or {"export", TABLE ...}, of the
// model in settings.output.model_dir. Prints the figures, or delivers them as `flags.json` says.
// kUsage for unknown names and for rows on other hosts, in use, or left open by a run; kCorruption,
// naming shard and file, for damaged rows.
Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const CkptFlags& flags);

// Over all levels of a shard's store.
inline uint64_t BytesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t bytes = 0;
  for (const RowStoreLevel& level : levels) bytes += level.bytes;
  return bytes;
}
inline uint64_t FilesOf(const std::vector<RowStoreLevel>& levels) {
  uint64_t files = 0;
  for (const RowStoreLevel& level : levels) files += level.files;
  return files;
}

// ---- inspect: a row: where it lies, how often it was looked up, its weights and state ----------

// `table`: a physical table by name; `row`: its number, as text. A row that was never pushed has
// its initial value. kUsage, and nothing in `out`, for an unknown table, a row beyond it, and rows
// that cannot be opened here.
Status InspectRow(const SavedRows& model, const std::string& table, const std::string& row,
                  Figures* out);

// The number of the categorical column of this name; the number of columns if there is none.
size_t ColumnOf(const Preprocessing& preprocessing, const std::string& table);

// `table`: a logical table that is a column of the preprocessing; `token`: as it stands in the
// data. Says which id it is by the model's preprocessing, and prints the row of each part of the
// table's kind. kUsage for a token that is none of
// the column's type, or that the dictionary lacks; otherwise as InspectRow.
Status InspectToken(const SavedRows& model, const EmbeddingTables& tables,
                    const Preprocessing& preprocessing, const std::string& table,
                    const std::string& token, Figures* out);

// ---- stats: rows, bytes, levels and files of tables and shards, and what the run pulled ---------

// Reads every row, and so checks every checksum.
// `model_dir`: where the report.json of the run that saved it may lie. kUsage, and nothing in
// `out`, for rows that cannot be opened here; kCorruption, naming shard and file, for damaged ones.
Status CollectStats(const SavedRows& model, const std::string& model_dir, Figures* out);

// ---- verify: whether a saved model is whole, by what its manifest says --------------------------

// Of the save in `model_dir` and of all its checkpoints: the manifest, the files beside it, the
// files of each shard, every row, and the rows digest. Reads everything; changes nothing. *out has
// a line for each save and each fault, also when a fault is found: then kCorruption. kUsage if
// there is nothing to verify, or if rows cannot be read here: in use, or on another host.
Status VerifyModel(const std::string& model_dir, const NodeOptions& storage, Figures* out);

// Of one save alone, which nobody may change meanwhile; out->json["saves"] gets an element.
Status VerifySave(const std::string& directory, const NodeOptions& storage, Figures* out);

// ---- compact: rewrites each shard's files so that each row is there once ------------------------

// `model`: the one in `model_dir`, whose manifest then gets the new stamps of the rows. `given`:
// the compression asked for; "": what the files of each shard have. Compacting a large shard takes
// minutes, so that each is reported when it is done: in `json`, and with `prints` as a line on
// stdout. kUsage, and nothing is changed, for rows that cannot be opened here. If an earlier
// compaction was cut off, its rows are first compared with the rows digest: kCorruption if they
// differ.
Status CompactShards(const std::string& model_dir, const SavedRows& model,
                     const NodeOptions& storage, const std::string& given, bool prints,
                     nlohmann::ordered_json* json);

// ---- export: tables and dense parameters as files that other programs read (docs/predict.md) ----

// Beside export.json, which lists them (export_index.h):
//
//   emb_l.<k>.weight.npy   logical table k as the model looks its ids up, ids x width: parts
//                          combined, weights of ids and max_norm applied, projected; an id that is
//                          padding is a row of zeros. A bag of ids is pooled of these rows, but
//                          where a kind pools first or projects a max
//   table-<name>.npy       with `is_stored`: the physical tables instead, as f32, rows x dim
//                          Of fewer `row_bits`, tables of either sort are quantised row by row
//   bot_l.0.weight.npy     a dense parameter by torch's name; biases have one dimension
//
// Tables are streamed: no large one is held in memory. Written as <out>.<16 hex digits>.tmp and
// renamed when all is whole; a killed process leaves that.
struct ExportOptions {
  std::string out;             // a directory that is made
  std::string format = "npy";  // of MatrixFormats()
  bool is_stored = false;
  Untrained untrained = Untrained::kInitial;
  uint32_t row_bits = kFloatBits;        // of a number (common/kernels/quantised_rows.h)
  std::vector<std::string> tables = {};  // logical tables, or physical ones; empty: all
  bool prints = true;                    // a line for each table
};

// `settings`: those of the model in settings.output.model_dir. *json: {out, bytes, tables}. kUsage
// if `out` exists or cannot be made, for an unknown table or format, for a row that cannot be
// quantised, or if the files would not fit the disk; else the errors of SavedWeights;
// kResourceExhausted for a full disk.
Status ExportModel(const Settings& settings, const ExportOptions& options,
                   nlohmann::ordered_json* json);

}  // namespace rowhouse
