// How often a saved model's rows were looked up while it was trained: every record keeps its count
// (sharding/rows/record.h), wherever it lies.
//
// Threads: one.
#pragma once

#include <string>

#include "launch/settings/settings.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

// A cache that is smaller than a step's rows forgets some lookups of rows that leave it between
// pull and push: counts are never too high.
//
// Of the model in `model_dir`, whose row directories must be readable here and used by nobody; they
// are not changed. Tables that are frozen have no counts. Requires settings that are Validate()d.
// kUsage, naming what differs or cannot be read, for no model, one of other tables, rows that a run
// left open, and rows on other hosts.
Result<AccessCounts> MeasuredAccesses(const Settings& settings, const std::string& model_dir);

}  // namespace rowhouse
