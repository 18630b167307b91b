// MpiRollCall: how workers whose wait in MPI has expired find out who is missing (roll_call.h).
//
// The first worker to give up sends its phase to all others, point to point, on a communicator of
// its own; whoever waits sees the message, gives up too and does the same. So all that are there
// fail together, however far apart their deadlines lie, and each hears from all of them.
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
  // `comm` is the caller's, used by nobody else, with MPI_ERRORS_RETURN.
  MpiRollCall(MPI_Comm comm, std::vector<WorkerAddress> addresses, int64_t deadline_ms,
              int64_t collect_ms);

  // Another worker has given up. An error of MPI's counts as a call, so that waiting ends.
  bool IsCalled() const;

  // Tells all others `phase` and `came_late`, collects for collect_ms at most, and returns the
  // error that names who is missing. Once.
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
