// Opening a shard's directory for a run: new, gone on from, or filled from the directories of a
// model that was saved under another plan. Refuses, in a sentence, whatever could lose or mix rows.
//
// Deletes a shard's directory in two cases, and only if no other process uses its rows: the job
// says `overwrite` and the directory is one of Rowhouse; or it was claimed for this model, shard,
// plan and config, and filling it was cut off before its STATE.json was written.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "ps/shard/shard_store.h"
#include "ps/store/row_store.h"
#include "sharding/tables/job_spec.h"

namespace rowhouse {

struct ShardOpeningOptions {
  std::string store = "rocksdb";  // a name of RowStores()
  std::string row_dir;            // shard k lies in <row_dir>/shard-<k, 4 digits>
  std::string host;               // this machine's name
  std::shared_ptr<StoreEnvironment> environment;
};

// Where a shard's rows lie under a row directory.
std::string ShardDirectory(const std::string& row_dir, ShardId shard);

// Where the RowStore lies in a shard's directory, beside OWNER.json and STATE.json.
std::string RowsDirectory(const std::string& shard_directory);

Result<std::unique_ptr<ShardStore>> OpenShardStore(const ShardOpeningOptions& options,
                                                   const JobSpec& job, ShardId shard);

}  // namespace rowhouse
