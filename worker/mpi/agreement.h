// Agree: ranks that must go on together or not at all tell each other what they have come to.
#pragma once

#include <string>

#include "common/status.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// Every rank passes its own status; all get the same one: OK if all are OK, else all different
// messages in rank order, a line each, with the first one's code.
Status Agree(Communicator& ranks, const Status& mine, const std::string& phase);

// The same, but one message: of the operator's mistakes, if there are any, or else of all, that of
// the lowest rank. For what several ranks may see from different sides. `*is_agreed`: all ranks
// return this failure; false if there is none, or if not all came, and then `mine` comes first.
Status AgreeOnOne(Communicator& ranks, const Status& mine, const std::string& phase,
                  bool* is_agreed);

// Rank 0's bytes on every rank; what others pass is ignored.
Result<std::string> BroadcastFromFirst(Communicator& ranks, const std::string& bytes,
                                       const std::string& phase);

}  // namespace rowhouse
