// Communicators of workers that are threads of one process. They implement the whole contract of
// worker/mpi/communicator.h, including deadlines and the names in errors.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/mpi/communicator.h"

namespace rowhouse {

// One for each worker, by rank, in any order of destruction. Worker w is called rank w on host
// "thread" in errors.
std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(uint32_t workers,
                                                                   int64_t deadline_ms = 30000);

}  // namespace rowhouse
