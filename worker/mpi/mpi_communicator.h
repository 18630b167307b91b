// The communicator of workers that are MPI ranks. Besides, only launch/hosts uses MPI, where ranks
// meet and part. Rows never travel by MPI.
//
// SumInRankOrder: rank r owns segment r (worker/embedding/slices.h). MPI_Ialltoallv sends the
// segments to their owners, which sum them in rank order; MPI_Iallgatherv sends the sums back. That
// moves as many bytes as a ring. 475,000 floats take 0.45 ms with 2 ranks and 1.0 ms with 3 (on 2
// cores, shared memory).
//
// A waiting rank tests and yields, so that ranks that share a core progress. When a wait expires,
// the workers call the roll (mpi_roll_call.h), and the error names who is missing. From then on the
// communicator is broken: every call returns that error at once. MPI may still write to its
// buffers, so they are never freed, and its destructor does not wait. A process with a broken
// communicator should end by MPI_Abort, because MPI_Finalize may wait for the worker that is gone.
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
  int64_t roll_call_ms = 3000;         // how long to collect answers after the deadline
  std::vector<WorkerAddress> workers;  // by worker rank; names for errors
};

// `workers`: the communicator of all workers and no other rank; worker rank = rank in it.
// Collective, without a deadline, because it duplicates `workers`. Requires MPI_Init before,
// MPI_Finalize after the result is destroyed, and options.workers.size() == size of `workers`.
Result<std::unique_ptr<Communicator>> MakeMpiCommunicator(MPI_Comm workers,
                                                          const MpiCommunicatorOptions& options);

}  // namespace rowhouse
