// MemoryLimit: holds this process to so many bytes more than it has already, page cache included,
// as a container would (cgroup v1's memory controller; needs root).
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
  // kUnavailable, with the reason, where the system forbids it.
  static Result<std::unique_ptr<MemoryLimit>> Set(uint64_t bytes);
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
