// PreparedRun: what a worker makes before it meets the PS nodes: data, job and model, and what the
// plan is expected to move; and what a run prints before it trains.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/prediction/auto_plan.h"
#include "launch/report/training_history.h"
#include "launch/run/run_data.h"
#include "launch/run/run_start.h"
#include "launch/run/worker_run.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/job_spec.h"
#include "worker/data/dataset.h"
#include "worker/dense/matrix_product.h"
#include "worker/train/trainer.h"
#include "worker/train/training_step.h"

namespace rowhouse {

struct PreparedRun {
  RunStart start;  // without the dense part, which `step` has
  RunData opened;
  std::unique_ptr<TrainingStep> step;  // with its dense parameters, initial or loaded
  std::vector<TableTraffic> traffic;   // on the worker that prints; else empty
  bool was_stopped = false;            // while rows were moved: the rest is not there
};

// Collective: every worker calls it, and all of them return OK or the same error: kUsage for data,
// settings or a saved model that the operator can mend, kCorruption for a saved model that is
// damaged. The worker that prints gives hints on the plan's traffic on stdout.
Result<PreparedRun> PrepareRun(const WorkerSetup& setup);

TrainerOptions TrainerOptionsOf(const Settings& settings, const JobSpec& job);

// A line that advises f32 where layers are of bf16 and that costs time on this CPU; else "".
// `bf16_time`: MeasureBf16Time, called for bf16 alone.
std::string PrecisionAdvice(ElementType precision, double (*bf16_time)());

// Predicted PS memory for the rows the run will touch; for all rows if these are unknown. nullopt
// if PS nodes were started by hand, because their settings are not known here.
std::optional<NodePlan> MemoryPlanOf(const Settings& settings, const JobSpec& job);

// Four lines: data, model, memory, what is kept. `memory`: the result of MemoryPlanOf.
std::string RunPreviewText(const Settings& settings, const JobSpec& job, const Dataset& data,
                           uint64_t steps_per_epoch, const std::optional<NodePlan>& memory);

}  // namespace rowhouse
