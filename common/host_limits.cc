#include "common/host_limits.h"

#include <glog/logging.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/durable_file.h"
#include "common/read_value.h"

namespace rowhouse {

uint64_t MemoryOfHost() {
  uint64_t bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const Result<std::string> limit = ReadFile("/sys/fs/cgroup/memory.max");
  if (!limit.ok()) return bytes;
  const std::string text = limit.value().substr(0, limit.value().find('\n'));
  if (const auto number = ReadWhole(text)) bytes = std::min(bytes, *number);
  return bytes;
}

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

void RaiseOpenFilesLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) PLOG(WARNING) << "cannot raise the open files limit";
}

uint64_t OpenFilesLimit() {
  RaiseOpenFilesLimit();
  rlimit limit = {};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0) << "getrlimit";
  return limit.rlim_cur;
}

}  // namespace rowhouse
