#include "ps/shard/process_memory.h"

#include <fstream>
#include <sstream>

namespace rowhouse {

uint64_t BytesOfField(const std::string& path, std::string_view field) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(field)) continue;
    std::istringstream fields(line.substr(field.size()));
    uint64_t kilobytes = 0;
    return fields >> kilobytes ? kilobytes * 1024 : 0;
  }
  return 0;
}

uint64_t PeakBytesOfProcess() { return BytesOfField("/proc/self/status", "VmHWM:"); }

}  // namespace rowhouse
