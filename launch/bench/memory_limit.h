// MemoryLimit: holds this process, and those it starts meanwhile, to so many bytes more than it has
// already, page cache included, as a container would.
//
// By a memory cgroup (Linux: Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst) of
// version 1 where /proc/self/cgroup names its memory controller, else of version 2. In both, limits
// that this process was started under hold on:
//
//   v1  <own>/rowhouse-bench-<pid>         memory.limit_in_bytes, cgroup.procs
//   v2  <own>/../rowhouse-bench-<pid>      memory.max, memory.swap.max = 0, cgroup.procs; beside
//       its own, since a cgroup with processes has none below (but the root: own is "/", and the
//       new one lies in it). Where the parent's cgroup.subtree_control lacks "memory", it is
//       written there, and stays: others may use it by then.
//
// It takes root, or a cgroup that was given to the user. Where neither version may be used (a
// read-only /sys/fs/cgroup, a container whose processes are in its v2 root, no memory controller)
// Set is kUnavailable and says why; `rowhouse bench` prints that and leaves the row out.
//
// What was allocated before stays charged to the cgroup the process came from. Threads: any
// started while it exists are held as well. One at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/status.h"

namespace rowhouse {

class MemoryLimit {
 public:
  // `system`: where /proc and /sys/fs/cgroup lie, for tests.
  static Result<std::unique_ptr<MemoryLimit>> Set(uint64_t bytes, const std::string& system = "");
  ~MemoryLimit();  // The process goes back to where it was.
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  MemoryLimit(std::string directory, std::string before)
      : directory_(std::move(directory)), before_(std::move(before)) {}

  const std::string directory_;
  const std::string before_;  // cgroup.procs of the cgroup it came from
};

}  // namespace rowhouse
