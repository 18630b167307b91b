// A split index: a text file that says of each sample, in the order of the data, which part it is
// of. A line is
//   PART         of one sample
//   PART COUNT   of so many samples, one after the other
// with PART train, valid, test or none (left out). The file may be compressed by gzip or zstd.
//
// Threads: a plain function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

enum class SamplePart : uint8_t { kTrain, kValid, kTest, kNone };

struct SplitIndex {
  std::vector<SamplePart> parts;  // of each sample
  std::string digest;             // XXH3-64, as hex, of the file's (uncompressed) bytes
};

// kUsage, naming the line, for any other line, and unless there are as many parts as `samples`; as
// ByteStream for files that cannot be read.
Result<SplitIndex> ReadSplitIndex(const std::string& path, uint64_t samples);

}  // namespace rowhouse
