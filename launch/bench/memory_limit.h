// MemoryLimit: limits this process, and those it starts meanwhile, to a number of bytes beyond what
// it has already, page cache included, as a container would.
//
// It makes a memory cgroup (Linux: Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst),
// of version 1 if /proc/self/cgroup names its memory controller, else of version 2. Limits that
// this process was started under still apply:
//
//   v1  <own>/rowhouse-bench-<pid>         memory.limit_in_bytes, cgroup.procs
//   v2  <own>/../rowhouse-bench-<pid>      memory.max, memory.swap.max = 0, cgroup.procs;
//       beside the process's own, because a cgroup that has processes may have no others below it.
//       The root, "/", may: it lies in the root if the process is there. If the parent's
//       cgroup.subtree_control lacks "memory", "memory" is added and stays.
//
// This takes root, or a cgroup that belongs to the user. If neither version can be used (a
// read-only /sys/fs/cgroup, a container whose processes are in its v2 root, no memory controller)
// Set is kUnavailable with the reason.
//
// Memory allocated before stays charged to the cgroup that the process came from. Threads started
// while it exists are limited too. One object at a time.
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
  // The most bytes that were charged at a time, page cache included; 0 where the kernel does not
  // say (version 2 before Linux 5.19).
  uint64_t Peak() const;
  ~MemoryLimit();  // The process goes back to where it was.
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  MemoryLimit(std::string directory, std::string peak, std::string before)
      : directory_(std::move(directory)), peak_(std::move(peak)), before_(std::move(before)) {}

  const std::string directory_;
  const std::string peak_;    // the file that says it
  const std::string before_;  // cgroup.procs of the cgroup it came from
};

}  // namespace rowhouse
