// RunOutcome: the results of a run, and how its report and its last lines tell them. Only the
// worker that prints has one. Threads: plain data.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/transport/transport.h"
#include "common/wire/control.h"
#include "launch/prediction/auto_plan.h"
#include "launch/report/progress.h"
#include "launch/report/report.h"
#include "launch/report/training_history.h"
#include "launch/run/worker_run.h"
#include "launch/settings/settings.h"
#include "sharding/plans/job_spec.h"
#include "worker/client/ps_client.h"
#include "worker/client/rendezvous.h"
#include "worker/data/dataset.h"
#include "worker/train/trainer.h"

namespace rowhouse {

// How the time of each shard divides from the first step to the last, without what it did before
// (opening) and does afterwards (saving, testing). What lies between steps counts. Threads: one.
class TrainingTimes {
 public:
  // References outlive this.
  TrainingTimes(PsClient& client, Dialer& dialer, const Clock& clock)
      : client_(client), dialer_(dialer), clock_(clock) {}

  // Ask the shards, without making them wait. Where they do not answer, the next operation of the
  // client says why.
  void Begin() { before_ = Ask(); }
  void End() { after_ = Ask(); }

  // Empty if it is not known.
  std::vector<ShardTimes> by_shard() const;

 private:
  std::vector<ShardTimes> Ask();

  PsClient& client_;
  Dialer& dialer_;
  const Clock& clock_;
  std::vector<ShardTimes> before_, after_;
};

// All rows after the last step. A row exists once a step has updated it.
struct RowFacts {
  std::string digest;  // "": it was not asked for, and no rows were counted
  uint64_t rows = 0;
  std::vector<uint64_t> shard_rows;  // rows that exist, by shard
  std::vector<StatsReply> stats;     // by shard
  uint64_t worker_rows = 0;          // rows that exist on the workers
  uint64_t worker_bytes = 0;         // of all records on a worker, whether their rows exist or not
};

struct RunOutcome {
  // Of the model, with this run as the last.
  TrainingHistory history;
  TrainingSummary summary;
  Evaluation evaluation;  // after the last step; 0 samples if there are none to test on
  std::optional<RunReport::Best> best;  // none without validations
  std::string why_best_untested;        // "": it was tested, or need not be
  std::optional<RunReport::Baseline> baseline;
  double auc_ceiling = -1.0;  // Dataset::TestAucCeiling()
  RowFacts rows;
  std::vector<ShardTimes> training_times;  // by shard, of training alone; empty: not known
  RunReport::Phases phases;
  std::optional<RunReport::Checkpoints> checkpoints;  // none if none are made
  std::vector<RunReport::Restart> restarts;
  std::optional<NodePlan> memory_plan;  // launch/run/prepared_run.h
  std::optional<RunPrediction> prediction;
  std::optional<PlanPromise> promise;  // of --plan=auto
};

// "rows from memory 98.1 %, disk 0.4 %, first touch 1.5 %"; "" if no row was pulled.
std::string PartsOfPulledText(const RowsPulled& pulled, bool has_files);

// `shards`: those of the job, by id. `traffic`: what its plan was expected to move.
RunReport ReportOf(const Settings& settings, const WorkerRunOptions& options, const JobSpec& job,
                   const std::vector<ShardAddress>& shards, std::vector<TableTraffic> traffic,
                   const RunOutcome& outcome);

// `earlier` and what this run added: `run`, and the points and tests of `progress`. `last`: the
// test after the last step; none with 0 samples.
TrainingHistory Continued(TrainingHistory earlier, const RunReport::Run& run,
                          const Progress& progress, const Evaluation& last);

// As a report has it.
RunReport::Evaluation Reported(const Evaluation& evaluation);

// The test of the best model by validation at the end of a run, from its checkpoint. It chooses
// nothing: the best is chosen by then. The worker that prints makes it alone, as the shards hold
// the last rows; its figures are those of `rowhouse eval` of the checkpoint's directory. Fills in
// best->test_auc and test_logloss: of the test samples of `data`, or, if the last model is the
// best, of `last`, the test after the last step. Returns why there are none: rows lie on other
// hosts, or half of save_deadline_ms is over. Returns "" also if there is nothing to test, or an
// operator waits for the run's end. Threads: one.
std::string TestBest(const WorkerSetup& setup, const TrainingSummary& summary,
                     const Evaluation& last, Dataset& data, RunReport::Best* best);

// "ended early at step 1500 of 3000: ...\n", if so, and which model was the best by validation and
// where it is; "" without validations.
std::string BestText(const Settings& settings, const RunOutcome& outcome, uint64_t last_step);

// For a run that ended before `last_step`: "stopped at step 120 of 1954 by SIGTERM; go on with
// --load". `is_saved`: there is a model to go on from.
void PrintStopped(const TrainingSummary& summary, uint64_t last_step, bool is_saved);

// What the cost model says of the run that is done, with the shards on `shards`; nothing, with a
// line on stdout that says why, if it cannot.
std::optional<RunPrediction> PredictionOf(const Settings& settings, const WorkerRunOptions& options,
                                          const JobSpec& job,
                                          const std::vector<ShardAddress>& shards,
                                          const TrainingSummary& summary);

// For text that was tested: what a logistic regression is worth on the same split, in one pass over
// the samples, if their files are small; else why that was not measured. None for generated data.
// Takes up to half a minute, which `stop` ends. `train_samples`: of the run.
std::optional<RunReport::Baseline> BaselineOf(const Settings& settings, uint64_t train_samples,
                                              const Evaluation& tested,
                                              const std::atomic<bool>& stop);

// "rows digest: ...", where the rows that were pulled came from, and "test AUC 0.7712 logloss
// 0.4612  N samples/s  report: ..." as the last line.
void PrintOutcome(const Settings& settings, const RunOutcome& outcome, const RunReport& report);

}  // namespace rowhouse
