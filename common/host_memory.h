// Memory of this host. Threads: any.
#pragma once

#include <cstdint>

namespace rowhouse {

// Bytes of this host's memory, or of the limit of this process's cgroup where that is less.
uint64_t MemoryOfHost();

}  // namespace rowhouse
