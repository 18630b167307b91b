// The preprocessing of a saved model, on every host of a run.
#pragma once

#include <memory>

#include "common/status.h"
#include "launch/run/host_leaders.h"
#include "launch/run/worker_setup.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {

// Collective. Null if `saved` has none. Its files lie on the first worker's host; hosts that do not
// see them under the same path get their bytes, piece by piece, into a temporary directory, which
// is gone when its workers have opened them: a vocabulary of any size takes disk there, not memory.
// All workers return OK or the same error.
Result<std::shared_ptr<const Preprocessing>> SharePreprocessing(const WorkerSetup& setup,
                                                                const HostLeaders& hosts,
                                                                const DatasetState& saved);

}  // namespace rowhouse
