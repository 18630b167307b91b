// What a worker says when a wait for the other workers has expired: who did not come, by name.
//
// Workers whose wait expired tell each other where they are and collect the answers for a while;
// from these each makes its error. Pure functions: how answers travel is the communicator's matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

// Where a worker runs, for people.
struct WorkerAddress {
  int mpi_rank = 0;  // in the world communicator
  std::string host;
};

// A worker's answer.
struct RollCallAnswer {
  std::string phase;       // what it was waiting in: "step 12, dense gradients"
  bool came_late = false;  // it came after the call, or less than a tenth of the deadline before
};

// One worker's view of a roll call.
struct RollCall {
  WorkerRank self{};
  std::vector<std::optional<RollCallAnswer>>
      answers;              // one a worker, the own one too; none: silent
  int64_t deadline_ms = 0;  // of the wait that expired
};

// kDeadlineExceeded: "step 12, dense gradients: worker 2 (rank 4 on hostB) did not come within
// 30000 ms; the others wait in the same phase". Workers that answered from another phase are named
// with it; a worker that came late itself says that it did.
// Requires addresses.size() == call.answers.size() and an answer of call.self.
Status DescribeRollCall(const RollCall& call, const std::vector<WorkerAddress>& addresses);

}  // namespace rowhouse
