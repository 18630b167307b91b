// Memory of this process. Threads: any.
#pragma once

#include <cstdint>

namespace rowhouse {

// Peak resident bytes so far, code and libraries included (VmHWM of Linux); 0: not known.
uint64_t PeakBytesOfProcess();

}  // namespace rowhouse
