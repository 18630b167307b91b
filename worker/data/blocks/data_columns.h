// The columns of data in the binary form, and where the data came from.
//
// Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/data/data_origin.h"

namespace rowhouse {

struct DataColumns {
  std::vector<std::string> dense;        // names
  std::vector<std::string> categorical;  // names
  std::vector<uint64_t> rows;            // of each categorical column: its ids are below
  bool has_weights = false;              // of samples
  bool operator==(const DataColumns&) const = default;
};

}  // namespace rowhouse
