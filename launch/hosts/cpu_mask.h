// mpirun binds each rank to one core, which all threads of the rank would then share.
#pragma once

#include <cstdint>

namespace rowhouse {

// If this process may run on fewer cores than it has threads that compute or serve, lets it run on
// all cores of the machine it is allowed to have, and says so in the log.
void WidenCpuMask(uint32_t threads);

}  // namespace rowhouse
