// Access counts of a run's rows: counted in its data, kept by a saved model, or known of generated
// data. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

// Reads the training data of one epoch, turns ids into physical rows as a worker does (kinds,
// padding, bad ids), and counts the lookups of each row in the first `max_samples` samples; 0: all.
// Requires settings that are Validate()d. Errors: those of reading the data, and kUsage for an id
// beyond its table.
Result<IdCounts> CountIds(const Settings& settings, uint64_t max_samples);

// The counts of the model in `model_dir`: every record keeps the number of lookups of its row
// during training (sharding/rows/record.h). Its rows must lie on this host and not be in use; they
// are not changed. Counts may be too low, never too high: a cache smaller than a step's rows loses
// the lookups of rows evicted between pull and push. Frozen tables have no counts. Requires
// settings that are Validate()d. kUsage, naming what differs or cannot be read, if there is no
// model, it has other tables, or its rows are in use, left open by a run, or on other hosts.
Result<AccessCounts> MeasuredAccesses(const Settings& settings, const std::string& model_dir);

// For generated data whose source knows its hottest ids and the law of the others: expected lookups
// of every physical table, on an arbitrary scale: the rows of each feature's 1,024 hottest ids one
// by one, the others spread evenly over the table. nullopt if the source does not know its hottest
// ids, or looks all ids up equally often.
std::optional<AccessCounts> GeneratedAccesses(const Settings& settings);

}  // namespace rowhouse
