#include "launch/bench/memory_limit.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr const char* kController = "/sys/fs/cgroup/memory";

// cgroup files take a number in one write and refuse it at the close.
bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return !file.fail();
}

// "4:memory:/a/b" in /proc/self/cgroup -> "/a/b".
std::string OwnCgroup() {
  const Result<std::string> text = ReadFile("/proc/self/cgroup");
  if (!text.ok()) return "";
  std::istringstream in(text.value());
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(":memory:");
    if (at != std::string::npos) return line.substr(at + strlen(":memory:"));
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<MemoryLimit>> MemoryLimit::Set(uint64_t bytes) {
  const std::string own = OwnCgroup();
  if (own.empty()) {
    return MakeStatus(StatusCode::kUnavailable,
                      "no memory limit: this process is in no cgroup of the v1 memory controller");
  }
  const std::string directory = fmt::format("{}/rowhouse-bench-{}", kController, getpid());
  if (mkdir(directory.c_str(), 0755) != 0) {
    return MakeStatus(StatusCode::kUnavailable, "no memory limit: cannot make {}: {}", directory,
                      std::strerror(errno));
  }
  std::unique_ptr<MemoryLimit> limit(
      new MemoryLimit(directory, kController + own + "/cgroup.procs"));
  if (!Write(directory + "/memory.limit_in_bytes", std::to_string(bytes)) ||
      !Write(directory + "/cgroup.procs", std::to_string(getpid()))) {
    return MakeStatus(StatusCode::kUnavailable, "no memory limit: cannot write to {}", directory);
  }
  return limit;
}

MemoryLimit::~MemoryLimit() {
  const bool is_back = Write(before_, std::to_string(getpid()));
  LOG_IF(ERROR, !is_back) << "cannot leave the memory limit of " << directory_;
  rmdir(directory_.c_str());
}

}  // namespace rowhouse
