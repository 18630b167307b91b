// RollCall: the error of a worker whose wait for the other workers has expired: it names those that
// did not come.
//
// Workers whose wait has expired tell each other what they wait in and collect the answers for a
// while; each makes its error from them. Pure functions: the communicator sends the answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

// Where a worker runs, for messages.
struct WorkerAddress {
  int mpi_rank = 0;  // in the world communicator
  std::string host;
};

// A worker's answer.
struct RollCallAnswer {
  std::string phase;  // what it was waiting in: "step 12, dense gradients"
  bool came_late =
      false;  // it came after the roll call, or less than a third of the deadline before
};

// One worker's view of a roll call.
struct RollCall {
  WorkerRank self{};
  std::vector<std::optional<RollCallAnswer>> answers;  // by worker, its own included; null: silent
  int64_t deadline_ms = 0;                             // of the wait that expired
};

// kDeadlineExceeded: "step 12, dense gradients: worker 2 (rank 4 on hostB) did not come within
// 30000 ms; the others wait in the same phase". Workers that answered from another phase are named
// with that phase. A worker that itself came late says so.
// Requires addresses.size() == call.answers.size() and an answer of call.self.
Status DescribeRollCall(const RollCall& call, const std::vector<WorkerAddress>& addresses);

}  // namespace rowhouse
