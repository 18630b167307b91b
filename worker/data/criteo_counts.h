// How many rows the tables of Criteo's data need.
//
// Threads: functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// Rows that each table needs for options.file: the number of different tokens in its column, modulo
// max_ind_range if that is above 0. Reads the text once; holds 2 bytes for each different token of
// a column. kUsage as TextChunks and the format, for more than max_bad_lines bad lines, and for
// data without a line.
Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options);

}  // namespace rowhouse
