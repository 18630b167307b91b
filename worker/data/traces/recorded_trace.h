// "recorded": traces of train --record_ids (trace_format.h). Parts of several workers are read side
// by side: a step has the samples of worker 0, then those of worker 1, and so on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {

// Reads the parts of all workers, in their order. kUsage, naming the file, for one that is missing,
// unfinished or damaged, for parts of different runs, and if parts are missing.
Result<std::unique_ptr<TraceReader>> OpenRecordedTrace(const std::vector<std::string>& parts);

}  // namespace rowhouse
