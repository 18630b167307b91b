// DataOrigin: a file that data were read from. Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rowhouse {

// One file that the data were made from.
struct DataOrigin {
  std::string file;      // name as it was given
  uint64_t samples = 0;  // that it gave
  std::string digest;    // XXH3-64, hex, of its (uncompressed) bytes
  // Of the only file, if lines of it were dropped: the samples of each of its seven days, which are
  // cut by lines, dropped ones too (SampleSplit); or none.
  std::vector<uint64_t> day_samples = {};
  bool operator==(const DataOrigin&) const = default;
};

}  // namespace rowhouse
