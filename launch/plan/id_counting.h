// How often a run would look up each row of its tables: the training data of one epoch, read and
// resolved to physical rows as a worker does it (kinds, padding, bad ids), and counted.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/settings/settings.h"
#include "sharding/plans/access_counts.h"
#include "worker/data/dataset.h"

namespace rowhouse {

struct IdCounts {
  AccessCounts counts;                 // of every physical table, in their order
  std::vector<uint64_t> rows_touched;  // of each: AccessCounter::rows_touched
  uint64_t samples = 0;                // that were counted
  // Rows that cross the wire in an epoch of one worker: each row once a step.
  std::vector<uint64_t> rows_pulled;  // of each table
};

// Samples of an epoch, as the run ends it (num_batches). `data`: of the settings.
uint64_t SamplesOfEpoch(const Settings& settings, const Dataset& data);

// Of the first `max_samples` of the epoch at most; 0: of all. Requires settings that are
// Validate()d. Errors are those of the data, and of ids that no table takes.
Result<IdCounts> CountIds(const Settings& settings, uint64_t max_samples);

}  // namespace rowhouse
