// The rows that a run with --overwrite replaces. They are set aside when the run opens its shard
// and deleted when it changes its first row. If the run ends before that, they are put back: when
// it closes the shard or, if it was killed, when the next run opens the shard. Side by side:
//
//   shard-0003            of the new run; without a STATE.json until its first change
//   shard-0003.replaced   the old rows, until then
// A run that goes on from a checkpoint replaces the rows of the run before it, which did not save
// them, by a copy of the checkpoint's. These are deleted, too, when the run changes its first row:
// by then all shards have their rows. Side by side:
//
//   shard-0003.restored    the copy, while it is made
//   shard-0003             the copy, whole from its first moment on
//   shard-0003.superseded  the rows before it, with the log of pushes to them
//
// Errors name the directory; kUsage if the operator can mend it. Threads: one per directory.
#pragma once

#include <string>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

// Whether rows were set aside from `directory`, a shard's.
bool HasReplacedRows(const std::string& directory);

// Where the rows of this model and shard lie that belong in `directory`: beside it, if they were
// set aside and no row of the run that replaces them was changed, else there, if anywhere. That run
// may still go on.
std::string FindRows(const std::string& directory, const std::string& model, ShardId shard);

// Moves what lies in `directory` aside. Requires that nobody has it open.
Status SetAsideRows(const std::string& directory);

// Deletes `directory` and moves the rows set aside back. Requires that nobody has it open.
Status PutBackReplacedRows(const std::string& directory);

// Moves the whole copy that lies in CopyOf(directory) into its place, and what lies there aside.
// Requires that nobody has it open. A crash leaves `directory`, old or new, or none; then calling
// this again with another copy is right.
std::string CopyOf(const std::string& directory);
Status SupersedeRows(const std::string& directory);

// Deletes the rows set aside, of both kinds, and the parts of checkpoints of a model whose rows
// were replaced by those of another one; OK if there are none.
Status DeleteReplacedRows(const std::string& directory);

}  // namespace rowhouse
