// Text of a run, prepared by one worker of each host while the others wait.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "launch/run/host_leaders.h"
#include "launch/run/worker_setup.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"

namespace rowhouse {

// Collective. Sets options->prepared and prepared_test on all workers; returns the prepared text on
// the leader of each host, null on the others. All workers return OK or the same error.
Result<std::unique_ptr<PreparedText>> PrepareTextOnHosts(const WorkerSetup& setup,
                                                         const HostLeaders& hosts,
                                                         DatasetOptions* options);

}  // namespace rowhouse
