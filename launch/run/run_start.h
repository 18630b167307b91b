// RunStart: what the first worker decides for all workers: the job and, if a saved model is loaded,
// its dense part and what it kept of its data.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "common/status.h"
#include "launch/model/last_save.h"
#include "launch/prediction/auto_plan.h"
#include "launch/report/training_history.h"
#include "launch/settings/settings.h"
#include "sharding/plans/job_spec.h"
#include "worker/data/dataset.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

struct RunStart {
  std::shared_ptr<const FileLock> lock;  // of the model directory, on the first worker
  JobSpec job;
  std::vector<float> dense;  // parameters and optimizer state of a loaded model; else empty
  DatasetState data;         // what the data source kept with a loaded model
  // On the first worker, of a loaded model: its learning curve, the digest of its rows (or
  // "not known"), and "learning_rate 0.06 (was 0.05)": what is different from its last run.
  TrainingHistory history;
  std::string rows_digest;
  std::string changes;
  // On the first worker, if job.load.are_moved, until MoveRowsOfModel has ended.
  std::optional<LastSave> save;
  // On the first worker, where the planner's plan was taken for its predicted time.
  std::optional<PlanPromise> promise;
};

// Collective: the first of `workers` makes the plan, reads the manifest in the model directory if
// there is one, and checks that outputs can be written; then all workers have the same result or
// the same error. Requires settings.Validate() to be OK. kUsage for what the operator can mend: an
// output that cannot be written, a plan that cannot be made, a model that is in the way, missing,
// or of other settings or rows. kCorruption for a saved model that is not what was written.
Result<RunStart> ShareStart(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                            const RunHosts& hosts, Communicator& workers);

// If job.load.are_moved, moves the rows of the model on the first worker, and sets start->dense on
// all. Collective; errors as ModelMove. Returns false if `stop` became true before all were moved.
Result<bool> MoveRowsOfModel(const Settings& settings, const std::atomic<bool>& stop,
                             RunStart* start, Communicator& workers);

}  // namespace rowhouse
