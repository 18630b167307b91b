// "text": a line a lookup. "TABLE ID", with blanks, tabs or a comma between, where TABLE is a name
// or a number; or "ID" alone, of one table that is called "0". From a field that begins with # on,
// a line is a remark. An empty line ends a sample, also behind the last one; in a file without
// empty lines the k-th id of each table belongs to sample k. Ids are below 2^63. The whole trace is
// held in memory, 8 bytes a lookup.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {

// Reads it all. kUsage "FILE:LINE:COLUMN: ..." for what a line has wrong, and if there are no
// lookups.
Result<std::unique_ptr<TraceReader>> OpenTextTrace(const std::string& path);

}  // namespace rowhouse
