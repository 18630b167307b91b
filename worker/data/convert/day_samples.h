// The days of a single file of which a format drops lines: cut by lines, as DLRM cuts Kaggle's file
// before it drops any.
//
// Threads: called by one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// DataOrigin::day_samples of the only file of `options`, whose chunks have given so many samples
// each: what Parse keeps of the lines of each day. Reads the file once more, and parses at most
// seven of its chunks. kUsage as TextChunks.
Result<std::vector<uint64_t>> DaySamples(const TextFormat& format, const ConversionOptions& options,
                                         const std::vector<uint64_t>& chunk_samples);

}  // namespace rowhouse
