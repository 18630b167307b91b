// Opens a shard's directory for a run: a new one, one to continue from, or one that is filled from
// the directories of a model that was saved under another plan. Refuses whatever could lose or mix
// rows, and directories that could not be written when the rows are saved.
//
// Rows of a checkpoint are copied, by links, into the shard's directory, unless that has them
// already; the checkpoint itself is only read. The rows that were there are set aside until the
// first row is changed (ps/store/replaced_rows.h).
//
// Deletes a shard's directory in two cases only, and never while another process uses its rows: the
// job says `overwrite` and the directory is one of Rowhouse; or it was claimed for this model,
// shard, plan and config, and the run that filled it ended before it wrote STATE.json.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"
#include "ps/shard/shard_store.h"
#include "ps/store/opening.h"
#include "ps/store/readable_places.h"
#include "ps/store/row_store.h"
#include "sharding/plans/job_spec.h"

namespace rowhouse {

struct ShardOpeningOptions {
  std::string store = "rocksdb";  // a name of RowStores()
  OptionValues store_own = {};    // of options that the store declares itself
  std::string row_dir;            // shard k lies in <row_dir>/shard-<k, 4 digits>
  std::string host;               // this machine's name
  std::shared_ptr<StoreEnvironment> environment;
  ReadablePlaces readable = {};  // where saved rows may be read from
  // Of all shards of the node.
  std::shared_ptr<OpeningProgress> progress = std::make_shared<OpeningProgress>();
};

// The directory of a shard under a row directory.
std::string ShardDirectory(const std::string& row_dir, ShardId shard);

// The RowStore's directory in a shard's directory, beside OWNER.json and STATE.json.
std::string RowsDirectory(const std::string& shard_directory);

// Whether a loaded shard has its rows where they were saved, or in a copy of that place: of a model
// that was copied or moved. Others are routed (routed_rows.h). Requires job.is_load.
bool IsWhereItWasSaved(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard);

// Whether the set of written rows that is kept beside the shard's saved rows is not exact. Requires
// job.is_load, and that rows that are routed lie in the shard's directory.
bool GuessesSavedRows(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard);

// Waits ten seconds for another process that has the rows open; then kUsage.
Result<std::unique_ptr<ShardStore>> OpenShardStore(const ShardOpeningOptions& options,
                                                   const JobSpec& job, ShardId shard);

}  // namespace rowhouse
