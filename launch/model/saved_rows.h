// SavedRows: the rows of a saved model where they lie: on its shards' directories, and, of tables
// and rows that live on the workers, at the end of the dense file.
//
// Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/model/manifest.h"
#include "ps/store/row_store.h"

namespace rowhouse {

class SavedRows {
 public:
  // Of the model in `model_dir`. Rows are looked for where a run that goes on from the model looks:
  // in `row_dir`, "" being <model_dir>/rows, so that a model that was copied or moved is itself;
  // and only where that holds no rows of a shard, in the directory the manifest names. kUsage if
  // there is no model or a table names an unknown optimizer; kCorruption for a manifest that is
  // none, or lists other shards than its plan has.
  static Result<SavedRows> Open(const std::string& model_dir, const std::string& row_dir = "");

  // As saved, but each shard's directory is the one where its rows were found, and shards of a run
  // with its rows in memory are gone where the plan gave them none.
  const Manifest& manifest() const { return manifest_; }

  // The rows of one of manifest().shards, for reading unless `options` say otherwise; their path is
  // filled in. kUsage, in a sentence, for rows that were in memory, on other hosts, of another
  // model, of another step, rows that a run left open and rows that somebody uses.
  Result<std::unique_ptr<RowStore>> OpenShard(const SavedShard& saved,
                                              RowStoreOptions options = {.read_only = true}) const;

  // kUsage, saying what became of them and what to do, if rows that lie on this host are not those
  // of the manifest: a run changed or replaced them and did not end in order. Opens no rows.
  Status CheckUnchanged() const;

  // Null if the plan gave the shard to nobody, which no saved model has.
  const SavedShard* FindShard(ShardId shard) const;

  // Calls visit(table, row, record) for each row on the workers, by table, then row; records are
  // whole and may be of rows that no step touched.
  using Visitor = std::function<Status(TableId, RowId, std::span<const std::byte>)>;
  Status ScanRowsOnWorkers(const Visitor& visit) const;

 private:
  std::string model_dir_;
  Manifest manifest_;
};

}  // namespace rowhouse
