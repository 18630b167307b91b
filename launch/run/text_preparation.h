// Text of a run, prepared by one worker of each host while the others wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/run/worker_run.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// HostLeaders: one worker of each host, who does for the others what is done once a host.
class HostLeaders {
 public:
  // Collective. `host`: this worker's; the first worker of a host leads it.
  static Result<HostLeaders> Find(Communicator& workers, const std::string& host);

  bool is_leader() const { return leader_ == rank_; }
  // The first worker's host needs nothing sent.
  bool is_first_host() const { return leader_ == 0; }

  // Collective: the text that the leader of this host gives. What others give is ignored.
  Result<std::string> FromLeader(Communicator& workers, const std::string& text,
                                 const std::string& phase) const;

 private:
  uint32_t rank_ = 0, leader_ = 0;
};

// Collective. Sets options->prepared and prepared_test on all workers; returns the prepared text on
// the leader of each host, null on the others. All workers return OK or the same error.
Result<std::unique_ptr<PreparedText>> PrepareTextOnHosts(const WorkerSetup& setup,
                                                         const HostLeaders& hosts,
                                                         DatasetOptions* options);

}  // namespace rowhouse
