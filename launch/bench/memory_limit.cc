#include "launch/bench/memory_limit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "common/durable_file.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

template <typename... Args>
Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(StatusCode::kUnavailable, "no memory limit: {}",
                    fmt::format(format, std::forward<Args>(args)...));
}

// cgroup files take a text in one write, which says whether they like it.
Status Write(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool is_written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (is_written) return OkStatus();
  return Unavailable("cannot write {} to {}: {}", text, path, std::strerror(error));
}

// Whether a list has the word "memory".
bool HasMemory(const std::string& list, char separator) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, separator);) {
    if (word == "memory") return true;
  }
  return false;
}

// Of a cgroup's file of controllers: one line.
Result<bool> ListsMemory(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return Unavailable("{}", text.status().message());
  return HasMemory(text.value().substr(0, text.value().find('\n')), ' ');
}

// The cgroup this process is in: of v1's memory controller if there is one, else v2's.
struct OwnCgroup {
  int version = 0;
  std::string path;  // "/a/b", "/" the root
};

// Lines "4:memory:/a/b" (v1; controllers with commas between) and "0::/a/b" (v2).
Result<OwnCgroup> FindOwnCgroup(const std::string& system) {
  const std::string path = system + "/proc/self/cgroup";
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return Unavailable("{}", text.status().message());
  std::optional<OwnCgroup> unified;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number, controllers, own;
    if (!std::getline(fields, number, ':') || !std::getline(fields, controllers, ':') ||
        !std::getline(fields, own)) {
      continue;
    }
    if (HasMemory(controllers, ',')) return OwnCgroup{1, own};
    if (controllers.empty()) unified = OwnCgroup{2, own};
  }
  if (!unified) return Unavailable("{} names no memory cgroup of version 1 or 2", path);
  return *unified;
}

// Lets cgroups in `parent` have the memory controller.
Status EnableMemory(const std::string& parent) {
  ASSIGN_OR_RETURN(const bool is_there, ListsMemory(parent + "/cgroup.controllers"));
  if (!is_there) return Unavailable("{}/cgroup.controllers has no memory controller", parent);
  ASSIGN_OR_RETURN(const bool is_enabled, ListsMemory(parent + "/cgroup.subtree_control"));
  return is_enabled ? OkStatus() : Write(parent + "/cgroup.subtree_control", "+memory");
}

// "" for the root, so that file names can follow.
std::string InTree(const std::string& mount, const std::string& cgroup) {
  return cgroup == "/" ? mount : mount + cgroup;
}

}  // namespace

Result<std::unique_ptr<MemoryLimit>> MemoryLimit::Set(uint64_t bytes, const std::string& system) {
  ASSIGN_OR_RETURN(const OwnCgroup own, FindOwnCgroup(system));
  const bool is_v1 = own.version == 1;
  const std::string mount = system + (is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup");
  const std::string own_directory = InTree(mount, own.path);
  const std::string before = own_directory + "/cgroup.procs";
  if (access(before.c_str(), W_OK) != 0) {
    return Unavailable("no way back to {}: {}", before, std::strerror(errno));
  }
  std::string parent = own_directory;
  if (!is_v1) {
    if (own.path != "/") parent = InTree(mount, own.path.substr(0, own.path.rfind('/')));
    RETURN_IF_ERROR(EnableMemory(parent));
  }
  const std::string directory = fmt::format("{}/rowhouse-bench-{}", parent, getpid());
  // One that is there was left by a process that had this one's number.
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return Unavailable("cannot make {}: {}", directory, std::strerror(errno));
  }
  std::unique_ptr<MemoryLimit> limit(new MemoryLimit(
      directory, directory + (is_v1 ? "/memory.max_usage_in_bytes" : "/memory.peak"), before));
  RETURN_IF_ERROR(
      Write(directory + (is_v1 ? "/memory.limit_in_bytes" : "/memory.max"), std::to_string(bytes)));
  const Status no_swap =
      Write(directory + (is_v1 ? "/memory.swappiness" : "/memory.swap.max"), "0");
  VLOG_IF(1, !no_swap.ok()) << "swap is not counted here: " << no_swap.message();
  RETURN_IF_ERROR(Write(directory + "/cgroup.procs", std::to_string(getpid())));
  return limit;
}

uint64_t MemoryLimit::Peak() const {
  const Result<std::string> text = ReadFile(peak_);
  if (!text.ok()) return 0;
  return ReadWhole(text.value().substr(0, text.value().find('\n'))).value_or(0);
}

MemoryLimit::~MemoryLimit() {
  const Status back = Write(before_, std::to_string(getpid()));
  LOG_IF(ERROR, !back.ok()) << "cannot leave the memory limit of " << directory_ << ": "
                            << back.message();
  rmdir(directory_.c_str());
}

}  // namespace rowhouse
