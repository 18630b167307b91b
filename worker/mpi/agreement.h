// Agreement of ranks that must go on together or not at all: each tells the others its status.
// The functions that take ranks are collective: every rank calls them at the same place. Threads:
// one.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include "common/status.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// Every rank passes its own status; all return the same one: OK if all are OK; otherwise the first
// error's code with all different messages in rank order, one line each.
Status Agree(Communicator& ranks, const Status& mine, const std::string& phase);

// As Agree, but with one message, for failures that ranks see from different sides. Of the ranks
// that have an error, the lowest with kUsage counts, or, if none has kUsage, the lowest of all.
// Sets `*is_agreed` to true if all ranks return that error, and to false if no rank has one. If a
// rank did not come, `*is_agreed` is false too, and this returns `mine` if that is an error, and
// otherwise the communicator's error.
Status AgreeOnOne(Communicator& ranks, const Status& mine, const std::string& phase,
                  bool* is_agreed);

// Whether a failure is one of model or data (kUsage, kInternal): a rank that has it can still meet
// the others and tell them. Other failures are lost peers and machines, which only the rank that
// noticed them can name. True for OK.
bool CanBeAgreedOn(const Status& status);

// AgreeOnOne if `mine` can be agreed on; otherwise returns `mine`, and does not meet the others.
Status AgreeIfPossible(Communicator& ranks, const Status& mine, const std::string& phase,
                       bool* is_agreed);

// Rank 0's bytes on every rank. What other ranks pass is ignored.
Result<std::string> BroadcastFromFirst(Communicator& ranks, const std::string& bytes,
                                       const std::string& phase);

// Runs `work` on a thread of rank 0 and returns its status on every rank. All meet once a second
// until it has ended, so that no deadline passes, however long it takes. `work` is asked to stop,
// by its token, once `stop` is true on rank 0 or a rank did not come.
Status DoOnFirst(Communicator& ranks, const std::function<Status(std::stop_token)>& work,
                 const std::atomic<bool>& stop, const std::string& phase);

}  // namespace rowhouse
