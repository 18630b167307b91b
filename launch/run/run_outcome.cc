#include "launch/run/run_outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/durable_file.h"
#include "launch/figures/figure_text.h"
#include "launch/hosts/process_end.h"
#include "launch/model/scoring_model.h"
#include "launch/report/run_prediction.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/plans/plan_load.h"
#include "worker/data/convert/text_baseline.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {
namespace {

// All of it if the shard counts from 0 again: it was restarted, or its profile began.
template <typename Times>
Times Since(const Times& before, const Times& after) {
  Times since = after;
  for (size_t p = 0; p < after.size(); ++p) {
    if (before[p] > after[p]) return after;
    since[p] -= before[p];
  }
  return since;
}

std::optional<double> Defined(double value) {
  return std::isnan(value) || value < 0.0 ? std::nullopt : std::optional(value);
}

double RateOf(const TrainingSummary& summary) {
  return summary.seconds > 0.0 ? static_cast<double>(summary.samples) / summary.seconds : 0.0;
}

std::string CommandLineOfThisProcess() {
  const Result<std::string> arguments = ReadFile("/proc/self/cmdline");  // Ended by zeros.
  if (!arguments.ok()) return "";
  std::string text = arguments.value();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::vector<RunReport::Worker> WorkersOf(const WorkerRunOptions& options,
                                         const TrainingSummary& summary, uint64_t steps) {
  std::vector<RunReport::Worker> workers;
  for (const WorkerSteps& its : summary.of_all.workers) {
    const size_t w = workers.size();
    workers.push_back({.name = w < options.worker_names.size() ? options.worker_names[w]
                                                               : fmt::format("worker {}", w),
                       .steps = its.phases});
    if (steps > 0) workers.back().median_step_ms = its.median_seconds * 1e3;
  }
  return workers;
}

// What the plan placed on each PS node, and what was counted there.
RunReport::Sharding ShardingOf(const Settings& settings, const JobSpec& job,
                               const WorkerRunOptions& options, std::vector<TableTraffic> traffic,
                               const RunOutcome& outcome) {
  const RowFacts& facts = outcome.rows;
  RunReport::Sharding sharding{.plan_digest = job.plan.digest(),
                               .placement = {},
                               .ps_nodes = {},
                               .worker_rows = facts.worker_rows,
                               .worker_bytes = facts.worker_bytes,
                               .traffic = std::move(traffic)};
  for (const TableSpec& table : job.tables) {
    sharding.placement.push_back({.name = table.name,
                                  .strategy = StrategyLike(table, job.plan),
                                  .slices = job.plan.slices(table.id).size(),
                                  .pools_on_shards = job.plan.pools_on_shards(table.id),
                                  .worker_rows = job.plan.worker_rows(table.id).size(),
                                  .cache_share = job.plan.cache_share(table.id)});
  }
  const uint32_t nodes = job.plan.shards() / job.shards_per_node;
  if (AsksForPlanner(settings.sharding.plan)) {
    const Result<Plan> configured = ConfiguredPlanOf(settings, nodes, job.shards_per_node);
    sharding.is_planners = !configured.ok() || configured.value().digest() != job.plan.digest();
  }
  sharding.ps_nodes.resize(nodes);
  const PlanLoad load = LoadOf(job.tables, job.plan, /*accesses=*/nullptr);
  for (size_t s = 0; s < load.shards.size(); ++s) {
    sharding.ps_nodes[s / job.shards_per_node].placed_bytes += load.shards[s].bytes;
  }
  for (size_t n = 0; n < sharding.ps_nodes.size(); ++n) {
    sharding.ps_nodes[n].name =
        n < options.nodes.size() ? options.nodes[n].name : fmt::format("PS node {}", n);
  }
  const std::vector<uint64_t>& wire_bytes = outcome.summary.of_all.shard_wire_bytes;
  for (size_t s = 0; s < wire_bytes.size(); ++s) {
    sharding.ps_nodes[s / job.shards_per_node].wire_bytes += wire_bytes[s];
  }
  for (size_t s = 0; s < facts.stats.size(); ++s) {
    RunReport::PsNode& node = sharding.ps_nodes[s / job.shards_per_node];
    node.rows += facts.shard_rows[s];
    node.rows_pulled += facts.stats[s].pulled.total();
    node.rows_pushed += facts.stats[s].rows_pushed;
    node.cache_bytes += facts.stats[s].cache_bytes;
    node.peak_bytes = std::max(node.peak_bytes, facts.stats[s].process_peak_bytes);
  }
  return sharding;
}

std::vector<RunReport::TableLoad> TableLoadsOf(const JobSpec& job,
                                               const std::vector<StatsReply>& shards) {
  std::vector<RunReport::TableLoad> loads(job.tables.size());
  std::vector<bool> is_there(loads.size());
  for (const StatsReply& shard : shards) {
    for (const TableStats& table : shard.tables) {
      if (table.table >= loads.size())
        continue;  // A shard that lies does not fail a run that is done.
      is_there[table.table] = true;
      loads[table.table].pulled.Add(table.pulled);
      loads[table.table].rows_pushed += table.rows_pushed;
    }
  }
  std::vector<RunReport::TableLoad> there;
  for (size_t t = 0; t < loads.size(); ++t) {
    if (!is_there[t]) continue;
    loads[t].name = job.tables[t].name;
    there.push_back(std::move(loads[t]));
  }
  return there;
}

RunReport::CurvePoint PointOf(const TrainingProgress& point) {
  return {.step = point.step,
          .epoch = point.epoch,
          .loss = point.loss,
          .accuracy = point.accuracy,
          .samples_per_second = static_cast<double>(point.samples) / point.seconds,
          .learning_rate = point.learning_rate};
}

// "rows pulled: 1,000; first touch 300 (30.0 %), memory 700 (70.0 %), disk 0"
std::string PulledText(const std::vector<StatsReply>& shards, bool has_files) {
  ShardCounters sum;
  for (const StatsReply& shard : shards) sum.Add(shard);
  const RowsPulled& pulled = sum.pulled;
  const auto count = [](uint64_t rows) { return CountText(static_cast<double>(rows)); };
  const auto part = [&](uint64_t rows) {
    if (rows == 0) return std::string("0");
    return fmt::format("{} ({:.1f} %)", count(rows),
                       100.0 * static_cast<double>(rows) / static_cast<double>(pulled.total()));
  };
  return fmt::format(
      "rows pulled: {}; first touch {}, memory {}, {} {}{}\n", count(pulled.total()),
      part(pulled.first_touched), part(pulled.from_memory), has_files ? "disk" : "store",
      part(pulled.from_store),
      sum.rows_prefetched == 0 ? "" : fmt::format("; {} read ahead", count(sum.rows_prefetched)));
}

Result<Evaluation> TestCheckpoint(const WorkerSetup& setup, const std::string& directory,
                                  Dataset& data) {
  // Caches of PS nodes and rows on workers have most of the memory: larger tables are read from the
  // checkpoint's files.
  constexpr uint64_t kRowsBytes = uint64_t{256} << 20;
  constexpr uint64_t kSamplesOfPiece = 4096;
  constexpr size_t kSliceSamples = 256;
  // The other workers wait for so long (SavingDeadlineMs), for this and for the rows' digest.
  const TimeMs until = setup.clock.NowMs() + setup.settings.cluster.save_deadline_ms / 2;
  Settings settings = setup.settings;
  settings.output.model_dir = directory;
  ModelRowsOptions rows;
  rows.memory_bytes = kRowsBytes;
  ASSIGN_OR_RETURN(const auto model, ScoringModel::Open(settings, rows));
  const auto forward = model->MakeForward();
  Scorer scorer(*forward, model->rows(), kSliceSamples);
  Batch batch;
  std::vector<float> scores, labels;
  for (uint64_t first = 0; first < data.test_samples(); first += kSamplesOfPiece) {
    if (setup.stop.load() || setup.clock.NowMs() >= until) {
      return MakeStatus(
          StatusCode::kDeadlineExceeded, "{}",
          setup.stop.load() ? "the run was told to stop" : "it took half of save_deadline_ms");
    }
    const uint64_t count = std::min(kSamplesOfPiece, data.test_samples() - first);
    RETURN_IF_ERROR(data.ReadTest(first, count, &batch));
    ASSIGN_OR_RETURN(
        const auto of_piece,
        scorer.Score(batch, fmt::format("test of {}, samples from {}", directory, first)));
    scores.insert(scores.end(), of_piece.begin(), of_piece.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return Evaluation{.step = model->manifest().steps,
                    .samples = labels.size(),
                    .metrics = ComputeMetrics(labels, scores)};
}

}  // namespace

std::vector<ShardTimes> TrainingTimes::Ask() {
  std::vector<ShardTimes> times;
  client_.StartStats(0);
  if (!RunClient(client_, dialer_, clock_).ok()) return times;
  for (const StatsReply& shard : client_.replies().stats) times.push_back(shard.times);
  return times;
}

std::vector<ShardTimes> TrainingTimes::by_shard() const {
  if (before_.size() != after_.size()) return {};
  std::vector<ShardTimes> times;
  for (size_t s = 0; s < after_.size(); ++s) {
    times.push_back({.shard = Since(before_[s].shard, after_[s].shard),
                     .store = Since(before_[s].store, after_[s].store)});
  }
  return times;
}

std::string PartsOfPulledText(const RowsPulled& pulled, bool has_files) {
  if (pulled.total() == 0) return "";
  const auto part = [&](uint64_t rows) {
    return 100.0 * static_cast<double>(rows) / static_cast<double>(pulled.total());
  };
  return fmt::format("rows from memory {:.1f} %, {} {:.1f} %, first touch {:.1f} %",
                     part(pulled.from_memory), has_files ? "disk" : "store",
                     part(pulled.from_store), part(pulled.first_touched));
}

RunReport ReportOf(const Settings& settings, const WorkerRunOptions& options, const JobSpec& job,
                   const std::vector<ShardAddress>& shards, std::vector<TableTraffic> traffic,
                   const RunOutcome& outcome) {
  const TrainingSummary& summary = outcome.summary;
  RunReport report;
  report.settings = settings;
  report.environment = {.hosts = options.hosts,
                        .cores = std::thread::hardware_concurrency(),
                        .workers = job.workers,
                        .ps_nodes = job.plan.shards() / job.shards_per_node,
                        .shards = static_cast<uint32_t>(shards.size()),
                        .started_at = options.started_at,
                        .command_line = CommandLineOfThisProcess()};
  report.runs = outcome.history.runs;
  report.curve = outcome.history.curve;
  report.evaluations = outcome.history.evaluations;
  report.validations = outcome.history.validations;
  report.progressive = outcome.history.progressive;
  report.best = outcome.best;
  report.baseline = outcome.baseline;
  report.totals = {.first_step = job.first_step(),
                   .steps = summary.steps_done,
                   .samples = summary.samples,
                   .seconds = summary.seconds,
                   .samples_per_second = RateOf(summary),
                   .test_auc_ceiling = Defined(outcome.auc_ceiling),
                   .was_stopped = summary.was_stopped,
                   .ended_early = summary.ended_early};
  const uint64_t steps = summary.steps_done - job.first_step();
  report.workers = WorkersOf(options, summary, steps);
  if (steps > 0) {
    report.totals.median_step_ms = summary.median_step_seconds * 1e3;
    report.totals.wire_bytes_per_step =
        static_cast<double>(summary.wire_bytes) / static_cast<double>(steps);
  }
  report.phases = outcome.phases;
  report.phases.steps = summary.phases;
  report.checkpoints = outcome.checkpoints;
  report.restarts = outcome.restarts;
  report.table_loads = TableLoadsOf(job, outcome.rows.stats);
  report.memory_plan = outcome.memory_plan;
  report.prediction = outcome.prediction;
  report.sharding = ShardingOf(settings, job, options, std::move(traffic), outcome);
  report.rows = {.digest = outcome.rows.digest, .count = outcome.rows.rows};
  for (size_t s = 0; s < shards.size(); ++s) {
    report.shards.push_back({.name = shards[s].name,
                             .rows = outcome.rows.shard_rows[s],
                             .counters = outcome.rows.stats[s],
                             .times = outcome.rows.stats[s].times});
    if (s < outcome.training_times.size()) {
      report.shards.back().training_times = outcome.training_times[s];
    }
  }
  return report;
}

RunReport::Evaluation Reported(const Evaluation& evaluation) {
  return {.step = evaluation.step,
          .samples = evaluation.samples,
          .auc = Defined(evaluation.metrics.roc_auc),
          .logloss = evaluation.metrics.logloss,
          .accuracy = evaluation.metrics.accuracy,
          .data_digest = evaluation.data_digest};
}

std::string TestBest(const WorkerSetup& setup, const TrainingSummary& summary,
                     const Evaluation& last, Dataset& data, RunReport::Best* best) {
  if (data.test_samples() == 0 || summary.was_told_to_stop) return "";
  const bool is_last = best->step == summary.steps_done;
  if (!is_last && best->checkpoint.empty()) return "";
  const Result<Evaluation> tested = is_last ? last : TestCheckpoint(setup, best->checkpoint, data);
  if (!tested.ok()) return tested.status().message();
  const RunReport::Evaluation figures = Reported(tested.value());
  best->test_auc = figures.auc;
  best->test_logloss = figures.logloss;
  return "";
}

std::string BestText(const Settings& settings, const RunOutcome& outcome, uint64_t last_step) {
  if (!outcome.best) return "";
  const RunReport::Best& best = *outcome.best;
  std::string text;
  if (outcome.summary.ended_early) {
    text = fmt::format("ended early at step {} of {}: {} in turn no better than that of step {}\n",
                       outcome.summary.steps_done, last_step,
                       Counted(settings.training.early_stop_patience, "validation"), best.step);
  }
  text += fmt::format("best validation: {} {:.4f} at step {}", best.metric, best.value, best.step);
  if (best.test_auc || best.test_logloss) {
    text +=
        fmt::format("; its test AUC {:.4f} logloss {:.4f}", best.test_auc.value_or(Metrics::kNone),
                    best.test_logloss.value_or(Metrics::kNone));
  } else if (!outcome.why_best_untested.empty()) {
    text += fmt::format("; not tested ({})", outcome.why_best_untested);
  }
  if (best.step == outcome.summary.steps_done) return text + ", the last one\n";
  if (!best.checkpoint.empty()) {
    return text + fmt::format(", kept in {}: rowhouse predict and eval --model_dir={} take it\n",
                              best.checkpoint, settings.output.model_dir);
  }
  return text + fmt::format("; that model is not kept: {}\n",
                            settings.keeps_best() ? "its checkpoint found no room on the disk"
                            : settings.output.model_dir.empty()
                                ? "--model_dir=DIRECTORY keeps it"
                                : "rows in memory cannot be saved (store=rocksdb)");
}

TrainingHistory Continued(TrainingHistory earlier, const RunReport::Run& run,
                          const Progress& progress, const Evaluation& last) {
  earlier.runs.push_back(run);
  for (const TrainingProgress& point : progress.curve()) earlier.curve.push_back(PointOf(point));
  for (const Evaluation& one : progress.evaluations()) {
    auto& list = one.of == Scored::kTest ? earlier.evaluations : earlier.validations;
    list.push_back(Reported(one));
  }
  for (const Evaluation& one : progress.progressive()) earlier.progressive.push_back(Reported(one));
  if (last.samples > 0) earlier.evaluations.push_back(Reported(last));
  return earlier;
}

void PrintStopped(const TrainingSummary& summary, uint64_t last_step, bool is_saved) {
  fmt::print("stopped at step {} of {} by {}; {}\n", summary.steps_done, last_step,
             summary.was_told_to_stop ? StopSignalName() : "--stop_after_steps",
             is_saved ? "go on with --load"
                      : "nothing was saved, because there is no --model_dir: start again");
  std::fflush(stdout);
}

std::optional<RunPrediction> PredictionOf(const Settings& settings, const WorkerRunOptions& options,
                                          const JobSpec& job,
                                          const std::vector<ShardAddress>& shards,
                                          const TrainingSummary& summary) {
  const uint64_t steps = summary.steps_done - job.first_step();
  if (steps == 0) return std::nullopt;
  std::set<std::string> hosts(options.hosts.begin(), options.hosts.end());
  for (const ShardAddress& shard : shards) hosts.insert(shard.host);  // PS nodes that stand apart
  Result<RunPrediction> predicted =
      PredictRun(settings, job.plan,
                 {.ps = job.plan.shards() / job.shards_per_node,
                  .shards_per_ps = job.shards_per_node,
                  .workers = job.workers,
                  .hosts = std::max<uint32_t>(1, static_cast<uint32_t>(hosts.size())),
                  .cores = options.cores,
                  .steps = steps,
                  .samples = summary.samples,
                  .goes_on = job.is_load});
  if (predicted.ok()) return std::move(predicted).value();
  PrintClean("not predicted: {}\n", predicted.status().message());
  return std::nullopt;
}

std::optional<RunReport::Baseline> BaselineOf(const Settings& settings, uint64_t train_samples,
                                              const Evaluation& tested,
                                              const std::atomic<bool>& stop) {
  // Four readings take less than half a minute.
  constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
  const std::string source = settings.data_source();
  if (tested.samples == 0 || !DeclarationOfDataset(source).reads_file) return std::nullopt;
  const Result<BaselineResult> measured =
      MeasureBaseline(source, settings.data, {.most_bytes = kMaxBytes, .stop = &stop});
  if (!measured.ok()) return RunReport::Baseline{.why_not = measured.status().message()};
  const BaselineResult& its = measured.value();
  if (its.train_samples != train_samples || its.test_samples != tested.samples) {
    return RunReport::Baseline{.why_not = "the text is not what the run read"};
  }
  return RunReport::Baseline{.of_test = {.samples = its.test_samples,
                                         .auc = Defined(its.metrics.roc_auc),
                                         .logloss = its.metrics.logloss,
                                         .accuracy = its.metrics.accuracy},
                             .train_samples = its.train_samples};
}

void PrintOutcome(const Settings& settings, const RunOutcome& outcome, const RunReport& report) {
  const std::string report_path = settings.report_path();
  const Evaluation& evaluation = outcome.evaluation;
  fmt::print("rows digest: {}\n", outcome.rows.digest.empty()
                                      ? "not asked for (--rows_digest): every row would be read"
                                      : outcome.rows.digest);
  fmt::print("{}", PulledText(outcome.rows.stats, settings.storage.has_files()));
  // Typical constants are of no use to a host that was not measured (rowhouse bench calibrate).
  const bool is_of_this_host = report.prediction && !report.prediction->calibration.empty();
  if (is_of_this_host || !settings.sharding.calibration.empty()) {
    PrintClean("{}", PredictionText(report));
  }
  if (outcome.promise && report.totals.median_step_ms) {
    fmt::print("{}", BrokenPromiseText(*outcome.promise, *report.totals.median_step_ms));
  }
  if (outcome.auc_ceiling >= 0.0) {
    fmt::print("AUC ceiling of the planted model on these test samples: {:.4f}\n",
               outcome.auc_ceiling);
  }
  if (outcome.baseline && outcome.baseline->why_not.empty()) {
    const RunReport::Evaluation& its = outcome.baseline->of_test;
    fmt::print("logistic regression on the same split: AUC {:.4f} logloss {:.4f}\n",
               its.auc.value_or(Metrics::kNone), its.logloss);
  } else if (outcome.baseline) {
    PrintClean("logistic regression on the same split: not measured: {}\n",
               outcome.baseline->why_not);
  }
  fmt::print("{}", WarningOfOnlyPrediction(evaluation));
  std::string tested = outcome.summary.was_told_to_stop ? "not tested" : "no test samples";
  if (evaluation.samples > 0) {
    tested = fmt::format("test AUC {:.4f} logloss {:.4f}", evaluation.metrics.roc_auc,
                         evaluation.metrics.logloss);
  }
  PrintClean("{}  {:.0f} samples/s{}\n", tested, RateOf(outcome.summary),
             report_path.empty() ? "" : "  report: " + report_path);
  std::fflush(stdout);
}

}  // namespace rowhouse
