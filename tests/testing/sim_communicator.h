// Communicators of simulated workers: the contract of worker/mpi/communicator.h in virtual time,
// deadline, patience and names included.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/testing/sim_scheduler.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// One for each worker, by rank; worker w is task w of `scheduler`, which outlives them, and is
// called rank w on host "sim" in errors. What a worker gathers reaches it up to a millisecond after
// the last worker has come.
std::vector<std::unique_ptr<Communicator>> MakeSimCommunicators(SimScheduler& scheduler,
                                                                uint32_t workers,
                                                                int64_t deadline_ms);

}  // namespace rowhouse
