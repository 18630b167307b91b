// Size and checksum of a large file. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"

namespace rowhouse {

struct FileSum {
  uint64_t bytes = 0;
  std::string checksum;  // XXH3-64, hex
};
// Reads the file once, in pieces. Errors as common/durable_file.h.
Result<FileSum> SumUpFile(const std::string& path);

}  // namespace rowhouse
