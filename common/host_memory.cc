#include "common/host_memory.h"

#include <unistd.h>

#include <algorithm>

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

}  // namespace rowhouse
