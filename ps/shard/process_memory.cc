#include "ps/shard/process_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace rowhouse {

uint64_t PeakBytesOfProcess() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    std::istringstream fields(line.substr(6));
    uint64_t kilobytes = 0;
    return fields >> kilobytes ? kilobytes * 1024 : 0;
  }
  return 0;
}

}  // namespace rowhouse
