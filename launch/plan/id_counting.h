// Access counts from a run's data: reads the training data of one epoch, turns ids into physical
// rows as a worker does (kinds, padding, bad ids), and counts the lookups of each row.
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
  uint64_t samples = 0;                // counted
  // Of each table: rows that one worker alone would pull in the epoch, each once a step.
  std::vector<uint64_t> rows_pulled;
};

// Samples of an epoch of the run, which num_batches may end early. `data`: of the settings.
uint64_t SamplesOfEpoch(const Settings& settings, const Dataset& data);

// Counts the first `max_samples` samples of the epoch; 0: all. Requires settings that are
// Validate()d. Errors: those of reading the data, and kUsage for an id beyond its table.
Result<IdCounts> CountIds(const Settings& settings, uint64_t max_samples);

}  // namespace rowhouse
