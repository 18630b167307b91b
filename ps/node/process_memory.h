// What this process has taken of memory. Threads: any.
#pragma once

#include <cstdint>

namespace rowhouse {

// The most bytes that were resident at one time, code and libraries included (VmHWM of Linux);
// 0 where the system does not say.
uint64_t PeakBytesOfProcess();

}  // namespace rowhouse
