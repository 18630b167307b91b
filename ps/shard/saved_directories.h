// The directories that a saved model's rows lie in, as a run that goes on from it reads them.
//
// Errors say what the operator can do. Threads: one per directory.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/row_store.h"
#include "sharding/plans/job_spec.h"

namespace rowhouse {

// An unreadable directory holds nothing; who opens it reports it.
bool HoldsAnything(const std::string& directory);
// With all that is in it. OK if there is none.
Status RemoveDirectory(const std::string& directory);

// The operator can only put back what is missing or damaged.
Status WithCure(const Status& status, const std::string& directory);

// OK if the rows in `directory` are those of this shard that the manifest names.
Status CheckSavedRows(const LoadSpec& load, ShardId shard, const std::string& directory);

// To open saved rows, and no others; none are made.
RowStoreOptions SavedRowsOptions(const ShardOpeningOptions& options, bool read_only);

// Those of a directory, and of the delta files beside them.
Result<std::unique_ptr<RowStore>> OpenSavedRows(const ShardOpeningOptions& options,
                                                const std::string& directory, bool read_only);

// OK if this node can copy the rows of one of job.load.shards.
Status CheckSource(const ShardOpeningOptions& options, const JobSpec& job, const SavedShard& saved);

}  // namespace rowhouse
