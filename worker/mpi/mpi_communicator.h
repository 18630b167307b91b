// The communicator of workers that are MPI ranks. Rows never travel by MPI; this and launch's
// meeting and parting are all that does.
//
// SumInRankOrder: rank r owns segment r (slices.h); segments go to their owners by MPI_Ialltoallv,
// are summed there in rank order and come back by MPI_Iallgatherv: a ring's bytes. 475,000 floats
// take 0.45 ms with 2 ranks and 1.0 ms with 3 (on 2 cores, shared memory).
//
// Waiting tests and yields, so that ranks sharing a core get on. When a wait expires, the workers
// call the roll (mpi_roll_call.h) and the error names who is missing. From then on the
// communicator is broken: every call returns that error at once. Its buffers stay with MPI, which
// may still write to them, and its destructor does not wait. A process that has seen a broken
// communicator should leave by MPI_Abort: MPI_Finalize may wait for the worker that is gone.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/mpi/communicator.h"
#include "worker/mpi/roll_call.h"

namespace rowhouse {

struct MpiCommunicatorOptions {
  int64_t deadline_ms = 30000;         // of each call
  int64_t roll_call_ms = 3000;         // how long to collect answers after it
  std::vector<WorkerAddress> workers;  // by worker rank; names for errors
};

// `workers`: the communicator of all workers and nobody else; worker rank = rank in it. It is
// duplicated, so all workers call this together, and it waits for them without a deadline.
// Requires MPI_Init before, MPI_Finalize after the result is destroyed, and
// options.workers.size() == size of `workers`.
Result<std::unique_ptr<Communicator>> MakeMpiCommunicator(MPI_Comm workers,
                                                          const MpiCommunicatorOptions& options);

}  // namespace rowhouse
