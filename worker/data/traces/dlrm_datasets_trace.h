// "dlrm_datasets": Meta's traces of embedding lookups, files fbgemm_t856_bs65536.pt and the like: a
// tuple of tensors
//   indices   ids, table after table, of each table sample after sample
//   offsets   tables x samples + 1: where each bag begins
//   lengths   tables x samples: of each bag
// Tables are called "t0", "t1", ...; how many rows they have is not known.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {

// kUsage, naming the file, for one that is missing or damaged, holds other tensors, or no lookups.
Result<std::unique_ptr<TraceReader>> OpenDlrmDatasetsTrace(const std::string& path);

}  // namespace rowhouse
