// MpiRollCall: how workers whose wait in MPI has expired find out who is missing (roll_call.h).
//
// The first worker that gives up sends its phase to all others, point to point, on a communicator
// of its own. A worker that waits sees the message, gives up too and does the same. So all workers
// that are there fail together, even if their deadlines differ, and each hears from all the others.
// Threads: the one that waits.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/mpi/roll_call.h"

namespace rowhouse {

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

}  // namespace rowhouse
