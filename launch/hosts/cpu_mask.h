// mpirun binds each rank to one core, which all threads of the rank would share.
#pragma once

#include <cstdint>

namespace rowhouse {

// If this process may run on fewer cores than `threads`, lets it run on all cores of the host that
// the system allows it, and logs that.
void WidenCpuMask(uint32_t threads);

}  // namespace rowhouse
