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
// Whether there are files of a RowStore's rows.
bool HoldsRowFiles(const std::string& directory);
// With all that is in it. OK if there is none.
Status RemoveDirectory(const std::string& directory);

// The operator can only put back what is missing or damaged.
Status WithCure(const Status& status, const std::string& directory);

// kUsage if another process has the rows of `directory` open. Changes nothing.
Status CheckRowsNotInUse(const ShardOpeningOptions& options, const std::string& directory);

// OK if the rows in `directory` are those of this shard that the manifest names.
Status CheckSavedRows(const LoadSpec& load, ShardId shard, const std::string& directory);

// To open saved rows, and no others; none are made.
RowStoreOptions SavedRowsOptions(const ShardOpeningOptions& options, bool read_only);

// Those of a directory, and of the delta files beside them.
Result<std::unique_ptr<RowStore>> OpenSavedRows(const ShardOpeningOptions& options,
                                                const std::string& directory, bool read_only);

// One of job.load.shards, with the directory that its rows are in now: a run with --overwrite that
// was killed may have set them aside (ps/store/replaced_rows.h). An error if this node cannot copy
// them; kUsage if that run goes on.
Result<SavedShard> FindSource(const ShardOpeningOptions& options, const JobSpec& job,
                              SavedShard saved);

}  // namespace rowhouse
