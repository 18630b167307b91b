// SavedRows: the rows of a saved model: those in its shards' directories and, of tables and rows on
// the workers, those at the end of the dense file.
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
  // Finds the rows as a run that continues the model does: in `row_dir` ("": <model_dir>/rows), so
  // that a copied or moved model uses its own rows; for a shard that has none there, in the
  // directory that the manifest names. kUsage if there is no model, or for an unknown optimizer;
  // kCorruption if the manifest cannot be read or lists other shards than its plan.
  static Result<SavedRows> Open(const std::string& model_dir, const std::string& row_dir = "");

  // As saved, but with each shard's directory where its rows were found, and without shards that
  // were in memory and own nothing by the plan.
  const Manifest& manifest() const { return manifest_; }

  // Opens the rows of one of manifest().shards, read-only unless `options` say otherwise; the path
  // is filled in. kUsage for rows that were in memory, on another host, of another model or step,
  // in use, or left open by a run, or that the manifest does not name, as a compaction was cut off,
  // unless the caller compares the digest of all rows; kCorruption if they are not those that the
  // manifest names.
  Result<std::unique_ptr<RowStore>> OpenShard(const SavedShard& saved,
                                              RowStoreOptions options = {.read_only = true},
                                              bool compares_digest = false) const;

  // kUsage, with cause and remedy, if rows on this host are not those of the manifest, as a run
  // changed or replaced them and did not end in order, or if it names none. Opens no rows.
  Status CheckUnchanged() const;

  // Null for a shard that is not in manifest().shards.
  const SavedShard* FindShard(ShardId shard) const;

  // Calls visit(table, row, record) for each row on the workers, by table, then row. Rows that no
  // step touched are among them.
  using Visitor = std::function<Status(TableId, RowId, std::span<const std::byte>)>;
  Status ScanRowsOnWorkers(const Visitor& visit) const;
  // What they take at the end of the dense file. kCorruption if it is shorter.
  Result<uint64_t> BytesOnWorkers() const;

 private:
  struct RowsOnWorkers {
    TableId table;
    std::vector<RowId> rows;  // empty: all
    uint64_t count;
    size_t record_bytes;
  };
  std::vector<RowsOnWorkers> TablesOnWorkers() const;

  std::string model_dir_;
  Manifest manifest_;
};

}  // namespace rowhouse
