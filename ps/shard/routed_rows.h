// Rows of a saved model on their way to the shards of another plan, or to other directories.
//
// While they are moved (ps/move/row_move.h) there are, beside the sources:
//   <row_dir>/shard-0003/        OWNER.json and no STATE.json; rows/, with nothing, with the rows
//                                that an old shard had, or with all rows
//   <row_dir>/shard-0003/moved/  files that rows/ will take over, and moved/kept/, which became
//                                rows/ where these have rows of an old shard (ps/move/kept_rows.h)
//   <row_dir>/move-0002.list     the journal of the shards that one process moves, by the first
// and then STATE.json, "clean", which says what they were routed from. A killed move goes on where
// it was when the same rows are moved to the same shards again; what another one left is deleted,
// unless it has taken over its files. Of rows that turn out to be others than those of the model
// nothing is left.
//
// Errors say what the operator can do; kResourceExhausted for a full disk. Threads: one.
#pragma once

#include <vector>

#include "common/status.h"
#include "ps/move/row_move.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/row_store.h"
#include "sharding/plans/job_spec.h"
#include "sharding/rows/rows_digest.h"

namespace rowhouse {

// Of a move to all shards of a plan at once.
struct WholeMove {
  // The rows that the saved plan kept on the workers; null if job.plan keeps the same ones there.
  const RowStore* on_workers = nullptr;
  // What the digest of all rows must be, and that of the rows that job.plan keeps on the workers.
  // "": not known; then the rows that are written are compared with those that are read.
  std::string rows_digest = {};
  RowsDigest of_worker_rows = {};
  MoveResult* moved = nullptr;  // set if rows are moved; null: nobody asks
};

// Fills the directories of these shards, all of one node, with the rows of job.load as job.plan
// divides them. Each stored record that any of them owns a column of is read once. Shards whose
// rows are there already are left alone. Under the saved plan a shard's files are linked, or copied
// where there can be no links. Under another one, if job.load.plan says which it was, so are files
// with ranges of rows that stay together, of old shards on the disk of row_dir that have no delta
// files. Requires job.is_load and a store with files. `whole`: of a move to
// all shards at once. kUsage if job.load.are_moved and a shard lacks its rows.
Status RouteRows(const ShardOpeningOptions& options, const JobSpec& job,
                 const std::vector<ShardId>& shards, const WholeMove& whole = {});

// Calls visit(table, row, record) for the rows of job.load that job.plan keeps on the workers and
// that a step has touched (ps/move/row_move.h), wherever they were. `on_workers` as in
// WholeMove, never null. Changes nothing.
Status ReadRowsForWorkers(const ShardOpeningOptions& options, const JobSpec& job,
                          const RowStore* on_workers, const WorkerRowVisitor& visit);

// Whether the rows of job.load lie in the shard's directory as job.plan divides them, unchanged
// since an earlier attempt to load them, which was refused elsewhere.
bool AreRowsRouted(const ShardOpeningOptions& options, const JobSpec& job, ShardId shard);

}  // namespace rowhouse
