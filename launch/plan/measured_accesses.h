// Access counts of a saved model: every record keeps the number of lookups of its row during
// training (sharding/rows/record.h).
//
// Threads: one.
#pragma once

#include <string>

#include "launch/settings/settings.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

// The counts of the model in `model_dir`. Its rows must lie on this host and not be in use; they
// are not changed. Counts may be too low, never too high: a cache smaller than a step's rows loses
// the lookups of rows evicted between pull and push. Frozen tables have no counts. Requires
// settings that are Validate()d. kUsage, naming what differs or cannot be read, if there is no
// model, it has other tables, or its rows are in use, left open by a run, or on other hosts.
Result<AccessCounts> MeasuredAccesses(const Settings& settings, const std::string& model_dir);

}  // namespace rowhouse
