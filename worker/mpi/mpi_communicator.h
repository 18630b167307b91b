// The communicator of workers that are MPI ranks. Besides, only launch/hosts uses MPI, where ranks
// meet and part. Rows never travel by MPI.
//
// SumInRankOrder: rank r owns segment r (worker/embedding/slices.h). MPI_Ialltoallv sends the
// segments to their owners, which sum them in rank order; MPI_Iallgatherv sends the sums back. That
// moves as many bytes as a ring. 475,000 floats take 0.45 ms with 2 ranks and 1.0 ms with 3 (on 2
// cores, shared memory).
//
// A waiting rank tests and yields, so that ranks that share a core progress. When a wait expires,
// the workers call the roll (MpiRollCall), and the error names who is missing. From then on the
// communicator is broken: every call returns that error at once. MPI may still write to its
// buffers, so they are never freed, and its destructor does not wait. A process with a broken
// communicator should end by MPI_Abort, because MPI_Finalize may wait for the worker that is gone.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/mpi/communicator.h"
#include "worker/mpi/roll_call.h"

namespace rowhouse {

// MpiRollCall: how workers whose wait in MPI has expired find out who is missing (roll_call.h).
//
// The first worker that gives up sends its phase to all others, point to point, on a communicator
// of its own. A worker that waits sees the message, gives up too and does the same. So all workers
// that are there fail together, even if their deadlines differ, and each hears from all the others.
class MpiRollCall {
 public:
  // `comm`: owned by the caller, used for nothing else, with MPI_ERRORS_RETURN.
  MpiRollCall(MPI_Comm comm, std::vector<WorkerAddress> addresses, int64_t deadline_ms,
              int64_t collect_ms);

  // True if another worker has given up, or if MPI returns an error.
  bool IsCalled() const;

  // Sends `phase` and `came_late` to all others, collects answers for at most collect_ms, and
  // returns the error that names the missing workers. Once.
  Status Hold(const std::string& phase, bool came_late);

 private:
  void Tell(const RollCallAnswer& answer);
  void Collect(RollCall* call);

  const MPI_Comm comm_;
  const std::vector<WorkerAddress> addresses_;
  const int64_t deadline_ms_;
  const int64_t collect_ms_;
};

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
