// RunOutcome: what a run came to, as its report and as the lines it ends with. Known to the worker
// that prints. Threads: plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/wire/control.h"
#include "launch/report/report.h"
#include "launch/run/progress.h"
#include "launch/run/worker_run.h"
#include "launch/settings/settings.h"
#include "sharding/tables/job_spec.h"
#include "worker/client/rendezvous.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// Of all rows after the last step. Those that nobody touched are none.
struct RowFacts {
  std::string digest;
  uint64_t rows = 0;
  std::vector<uint64_t> shard_rows;
  std::vector<StatsReply> stats;  // by shard
  uint64_t worker_rows = 0;       // that exist on the workers
  uint64_t worker_bytes = 0;      // of all that are there
};

struct RunOutcome {
  TrainingSummary summary;
  Evaluation evaluation;      // after the last step; of no samples: there are none to test on
  double auc_ceiling = -1.0;  // Dataset::TestAucCeiling()
  RowFacts rows;
  RunReport::Phases phases;
  std::optional<NodePlan> memory_plan;  // launch/run/run_preview.h
};

// "rows from memory 98.1 %, disk 0.4 %, first touch 1.5 %"; "": none was pulled.
std::string PartsOfPulledText(const RowsPulled& pulled, const std::string& store);

// `shards`: those of the job, by number; `traffic`: what its plan was expected to move.
RunReport ReportOf(const Settings& settings, const WorkerRunOptions& options, const JobSpec& job,
                   const std::vector<ShardAddress>& shards, std::vector<TableTraffic> traffic,
                   const Progress& progress, const RunOutcome& outcome);

// "stopped at step 120 of 1954 by SIGTERM; go on with --load", of a run that ended before
// `last_step`. `is_saved`: there is a model to go on from.
void PrintStopped(const TrainingSummary& summary, uint64_t last_step, bool is_saved);

// "rows digest: ...", where the rows that were pulled came from, and "test AUC 0.7712 logloss
// 0.4612  N samples/s  report: ..." as the last line.
void PrintOutcome(const Settings& settings, const RunOutcome& outcome);

}  // namespace rowhouse
