// RunReport: settings, environment, curves and results of a run: report.json, and the page beside
// it.
//
// JSON, format 1: label, settings {section: {name: value}}, tables [...], model_bytes, environment,
// versions, runs [...], curve [...], evaluations [...], validations [...], progressive [...], best,
// baseline, totals, phases, checkpoints, restarts [...], rows, sharding, shards [...], table_loads
// [...], memory_plan, prediction. An unknown figure is null, never 0.
//   runs, curve, evaluations, validations, progressive, best: of all runs of the model. The
//     report's is the last: its points have steps above totals.first_step. All else is of this run
//   step_phases {data, merge, pull, ...}: seconds of steps on the worker that wrote the report
//     (worker/train/step_clock.h); shards[].seconds {wait, socket, ...}: of a shard's thread, and
//     its I/O thread in the store (common/wire/control.h)
//   model_bytes {rows, state, plain_rows}: of all rows, touched or not, with projections
//     and learned weights; of their optimizer state; of the rows if every table were plain
//     (sharding/tables/table_sizes.h)
//   workers [{name, median_step_ms, step_phases}]: of every worker
//   sharding {strategy, pool_on, placement [...], plan_digest, ps_nodes [...], on_each_worker
//     {rows, bytes}, tables [...]}: how each table is placed, what each PS node owned and did, and
//     the traffic expected of each table (launch/prediction/traffic_report.h)
//   baseline {auc, logloss, accuracy, train_samples, test_samples} of a logistic regression on the
//     split of the run (worker/data/convert/text_baseline.h), or {why_not}: why it was not
//     measured; null if the data are generated or nothing was tested
//   rows_pulled: rows_from_memory + rows_first_touched (never written: the initialiser's) +
//     rows_from_store (the pull waited for a read)
//   prediction: what the cost model says of a step, beside what was measured
//     (launch/report/run_prediction.h)
//   memory_plan: the prediction of rowhouse plan --sizes (launch/prediction/node_plan.h)
// Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/wire/control.h"
#include "launch/prediction/node_plan.h"
#include "launch/report/run_prediction.h"
#include "launch/settings/settings.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "worker/train/trainer.h"

namespace rowhouse {

inline constexpr int kReportFormat = 1;

struct RunReport {
  struct Environment {
    std::vector<std::string> hosts;  // each once
    uint32_t cores = 0;              // of the host that wrote the report
    uint32_t workers = 0;
    uint32_t ps_nodes = 0;
    uint32_t shards = 0;     // over all PS nodes
    std::string started_at;  // "2025-01-31T12:00:00Z"
    std::string command_line;
  };
  // One of the runs of a model.
  struct Run {
    std::string started_at;
    uint64_t first_step = 0;  // done before it
    uint64_t steps = 0;       // done after it
    uint64_t samples = 0;     // that it trained
    double seconds = 0.0;     // of its training steps
    std::string data;         // as it was given; "": generated
    std::string data_digest;  // Dataset::content_digest
    bool operator==(const Run&) const = default;
  };
  // Means and rates are since the previous point of the same run.
  struct CurvePoint {
    uint64_t step = 0;  // steps done, over all runs of the model
    uint64_t epoch = 0;
    double loss = 0.0;  // mean over samples
    std::optional<double> accuracy = {};
    double samples_per_second = 0.0;
    double learning_rate = 0.0;  // of the last step
  };
  struct Evaluation {
    uint64_t step = 0;
    uint64_t samples = 0;
    std::optional<double> auc = {};  // undefined where all labels are equal
    double logloss = 0.0;
    double accuracy = 0.0;
    uint64_t data_digest = 0;  // equal: of the same samples
  };
  // The best validation, over all runs of the model.
  struct Best {
    uint64_t step = 0;
    std::string metric;                                      // auc or logloss
    double value = 0.0;                                      // of the metric
    std::string checkpoint;                                  // its directory; "": it was not kept
    std::optional<double> test_auc = {}, test_logloss = {};  // none if it was not tested
  };
  struct Baseline {
    Evaluation of_test;  // its step has no meaning
    uint64_t train_samples = 0;
    std::string why_not;  // "": it was measured
  };
  struct Totals {
    uint64_t first_step = 0;  // steps that earlier runs did
    uint64_t steps = 0;       // done, over all runs of the model
    uint64_t samples = 0;     // trained in this run
    double seconds = 0.0;     // of training steps
    double samples_per_second = 0.0;
    std::optional<double> test_auc_ceiling = {};  // best possible; known for planted data
    bool was_stopped = false;                     // before the last epoch's end
    bool ended_early = false;                     // by early_stop_patience
    std::optional<double> median_step_ms = {};    // of the worker that wrote the report
    // Frames between workers and shards in training steps, both directions, over all workers.
    std::optional<double> wire_bytes_per_step = {};
  };
  // Seconds of the worker that wrote the report, one after the other.
  struct Phases {
    double start = 0.0;  // opening data, meeting PS nodes
    StepPhases steps;
    double test = 0.0;
    double save = 0.0;  // writing rows back, their digest, the dense part
  };
  struct Checkpoints {
    uint64_t made = 0;
    uint64_t without_room = 0;     // given up, because the disk was full
    uint64_t left_out = 0;         // were due while another one was being made
    uint64_t durable_step = 0;     // of the newest that is whole
    double seconds = 0.0;          // for which steps stood still, over all of both
    double longest_seconds = 0.0;  // the longest of these times
    uint64_t last_bytes = 0;       // of the last one's files of rows, most of them links
  };
  // By launch/mpirun.sh, after a failure of the run.
  struct Restart {
    std::string why;              // "a process of the run was ended by signal 9 (KILL)"
    uint64_t reached_step = 0;    // done when it failed
    uint64_t from_step = 0;       // it went on from there
    uint64_t steps_repeated = 0;  // those between
    double seconds_lost = 0.0;    // from the last step before it to when training began again
  };
  struct Rows {
    std::string digest;  // "rows digest"
    uint64_t count = 0;  // that exist
  };
  struct Worker {
    std::string name;  // "worker 1 (rank 3 on a)"
    std::optional<double> median_step_ms = {};
    StepPhases steps;  // seconds
  };
  struct PsNode {
    std::string name;         // "PS node 0 (rank 0 on a)"
    double placed_bytes = 0;  // of the records it owns by the plan, touched or not
    uint64_t rows = 0;  // stored there; a row in several slices counts where its first column is
    uint64_t rows_pulled = 0;
    uint64_t rows_pushed = 0;
    uint64_t cache_bytes = 0;  // memory reserved for its caches
    uint64_t peak_bytes = 0;   // largest memory of its process; 0: unknown
    // Of frames between it and all workers in training steps, both directions.
    uint64_t wire_bytes = 0;
  };
  struct PlacedTable {
    std::string name;
    std::string strategy;  // that it is placed like (sharding/lab/planner/planner.h)
    uint64_t slices = 0;
    bool pools_on_shards = false;
    uint64_t worker_rows = 0;                          // single rows on the workers
    std::optional<double> cache_share = std::nullopt;  // of its shards' caches, by the plan
  };
  struct Sharding {
    std::string plan_digest;
    std::vector<PlacedTable> placement;  // each physical table
    std::vector<PsNode> ps_nodes;
    uint64_t worker_rows = 0;   // rows that exist on each worker
    uint64_t worker_bytes = 0;  // memory that each worker has for rows, existing or not
    std::vector<TableTraffic> traffic;
    bool is_planners = false;  // with --plan=auto: it is not the plan of the configured strategy
  };
  struct Shard {
    std::string name;
    uint64_t rows = 0;
    ShardCounters counters;
    ShardTimes times;
    std::optional<ShardTimes> training_times = {};  // from the first step to the last
  };

  // Over all shards.
  struct TableLoad {
    std::string name;
    RowsPulled pulled;
    uint64_t rows_pushed = 0;
  };

  Settings settings;
  Environment environment;
  std::vector<Run> runs;
  std::vector<CurvePoint> curve;
  std::vector<Evaluation> evaluations;
  std::vector<Evaluation> validations;
  std::vector<Evaluation> progressive;  // each sample before it was trained on, by windows of steps
  std::optional<Best> best;             // none without validations
  std::optional<Baseline> baseline;     // of own data that were tested
  Totals totals;
  Phases phases;
  std::optional<Checkpoints> checkpoints;  // none if none are made
  std::vector<Restart> restarts;           // of this command, in order
  Rows rows;
  std::vector<Worker> workers;  // by rank
  Sharding sharding;
  std::vector<Shard> shards;
  std::vector<TableLoad> table_loads;       // of physical tables with rows on shards
  std::optional<NodePlan> memory_plan;      // none if PS nodes have settings of their own
  std::optional<RunPrediction> prediction;  // none if it could not be made, or without steps
};

// Requires settings that are Complete() and Validate()d.
nlohmann::ordered_json ReportToJson(const RunReport& report);

// {section: {name: value}} of every setting, without those of `rowhouse ps`, and the config digest.
nlohmann::ordered_json SettingsToJson(const Settings& settings);

// The path of a report's page: report.html for report.json; for other names ".html" is added.
std::string ReportPagePath(const std::string& path);

// Writes report and page, each whole or not at all, and makes missing directories.
Status WriteReport(const RunReport& report, const std::string& path);

}  // namespace rowhouse
