// Communicators of workers that are threads of this process, for clusters in one process. They
// keep the contract of worker/mpi/communicator.h, deadline and names included.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/mpi/communicator.h"

namespace rowhouse {

// One for each worker, by rank; they may outlive each other. Worker w is called rank w on host
// "thread" in errors.
std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(uint32_t workers,
                                                                   int64_t deadline_ms = 30000);

}  // namespace rowhouse
