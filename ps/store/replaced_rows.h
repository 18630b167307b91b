// The rows that a run with --overwrite replaces. They are set aside when the run opens its shard
// and deleted when it changes its first row. If the run ends before that, they are put back: when
// it closes the shard or, if it was killed, when the next run opens the shard. Side by side:
//
//   shard-0003            of the new run; without a STATE.json until its first change
//   shard-0003.replaced   the old rows, until then
//
// Errors name the directory; kUsage if the operator can mend it. Threads: one per directory.
#pragma once

#include <string>

#include "common/status.h"

namespace rowhouse {

// Whether rows were set aside from `directory`, a shard's.
bool HasReplacedRows(const std::string& directory);

// Moves what lies in `directory` aside. Requires that nobody has it open.
Status SetAsideRows(const std::string& directory);

// Deletes `directory` and moves the rows set aside back. Requires that nobody has it open.
Status PutBackReplacedRows(const std::string& directory);

// Deletes the rows set aside; OK if there are none.
Status DeleteReplacedRows(const std::string& directory);

}  // namespace rowhouse
