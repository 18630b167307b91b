// The columns of data in the binary form, and where the data came from.
//
// Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rowhouse {

struct DataColumns {
  std::vector<std::string> dense;        // names
  std::vector<std::string> categorical;  // names
  std::vector<uint64_t> rows;            // of each categorical column: its ids are below
  bool has_weights = false;              // of samples
  bool operator==(const DataColumns&) const = default;
};

// One file that the data were made from.
struct DataOrigin {
  std::string file;      // name as it was given
  uint64_t samples = 0;  // that it gave
  std::string digest;    // XXH3-64, hex, of its (uncompressed) bytes
  // Of the only file, if its format may drop lines: the samples of each of its seven days, which
  // are cut by lines, dropped ones too (SampleSplit); or none.
  std::vector<uint64_t> day_samples = {};
  bool operator==(const DataOrigin&) const = default;
};

}  // namespace rowhouse
