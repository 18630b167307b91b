// PreparedRun: what a worker makes before it meets the PS nodes: data, job and model, and what the
// plan is expected to move.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "common/file_lock.h"
#include "common/status.h"
#include "launch/prediction/chosen_plan.h"
#include "launch/report/training_history.h"
#include "launch/run/worker_run.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/job_spec.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"
#include "worker/train/trainer.h"
#include "worker/train/training_step.h"

namespace rowhouse {

struct PreparedRun {
  std::shared_ptr<const FileLock> lock;  // RunStart::lock
  std::unique_ptr<PreparedText> text;    // RunData::text
  std::unique_ptr<Dataset> data;
  JobSpec job;
  std::unique_ptr<TrainingStep> step;  // with its dense parameters, initial or loaded
  std::vector<TableTraffic> traffic;   // on the worker that prints; else empty
  TrainingHistory history;             // of a loaded model, on the first worker; else empty
  std::optional<PlanPromise> promise;  // RunStart::promise
};

// Collective: every worker calls it, and all of them return OK or the same error: kUsage for data,
// settings or a saved model that the operator can mend, kCorruption for a saved model that is
// damaged. The worker that prints gives hints on the plan's traffic on stdout.
Result<PreparedRun> PrepareRun(const WorkerSetup& setup);

TrainerOptions TrainerOptionsOf(const Settings& settings, const JobSpec& job);

}  // namespace rowhouse
