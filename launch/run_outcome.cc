#include "launch/run_outcome.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <thread>

#include "common/durable_file.h"
#include "launch/stop_request.h"
#include "sharding/plan_load.h"

namespace rowhouse {
namespace {

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

// What the plan gave each PS node, and what came of it.
RunReport::Sharding ShardingOf(const JobSpec& job, std::vector<TableTraffic> traffic,
                               const RowFacts& facts) {
  RunReport::Sharding sharding{.plan_digest = job.plan.digest(),
                               .ps_nodes = {},
                               .worker_rows = facts.worker_rows,
                               .worker_bytes = facts.worker_bytes,
                               .traffic = std::move(traffic)};
  sharding.ps_nodes.resize(job.plan.shards() / job.shards_per_node);
  const PlanLoad load = LoadOf(job.tables, job.plan, /*accesses=*/nullptr);
  for (size_t s = 0; s < load.shards.size(); ++s) {
    sharding.ps_nodes[s / job.shards_per_node].placed_bytes += load.shards[s].bytes;
  }
  for (size_t s = 0; s < facts.stats.size(); ++s) {
    RunReport::PsNode& node = sharding.ps_nodes[s / job.shards_per_node];
    node.rows += facts.shard_rows[s];
    node.rows_pulled += facts.stats[s].rows_pulled;
    node.rows_pushed += facts.stats[s].rows_pushed;
    node.cache_bytes += facts.stats[s].cache_bytes;
  }
  return sharding;
}

}  // namespace

RunReport ReportOf(const Settings& settings, const WorkerRunOptions& options, const JobSpec& job,
                   const std::vector<ShardAddress>& shards, std::vector<TableTraffic> traffic,
                   const Progress& progress, const RunOutcome& outcome) {
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
  for (const TrainingProgress& point : progress.curve()) {
    report.curve.push_back(
        {.step = point.step,
         .epoch = point.epoch,
         .loss = point.loss,
         .accuracy = point.accuracy,
         .samples_per_second = static_cast<double>(point.samples) / point.seconds,
         .learning_rate = point.learning_rate});
  }
  std::vector<Evaluation> evaluations = progress.evaluations();
  if (outcome.evaluation.samples > 0) evaluations.push_back(outcome.evaluation);
  for (const Evaluation& evaluation : evaluations) {
    report.evaluations.push_back({.step = evaluation.step,
                                  .samples = evaluation.samples,
                                  .auc = Defined(evaluation.metrics.roc_auc),
                                  .logloss = evaluation.metrics.logloss,
                                  .accuracy = evaluation.metrics.accuracy});
  }
  report.totals = {.steps = summary.steps_done,
                   .samples = summary.samples,
                   .seconds = summary.seconds,
                   .samples_per_second = RateOf(summary),
                   .test_auc_ceiling = Defined(outcome.auc_ceiling),
                   .was_stopped = summary.was_stopped};
  if (const uint64_t steps = summary.steps_done - job.first_step(); steps > 0) {
    report.totals.median_step_ms = summary.median_step_seconds * 1e3;
    report.totals.wire_bytes_per_step =
        static_cast<double>(summary.wire_bytes) / static_cast<double>(steps);
  }
  report.sharding = ShardingOf(job, std::move(traffic), outcome.rows);
  report.rows = {.digest = outcome.rows.digest, .count = outcome.rows.rows};
  for (size_t s = 0; s < shards.size(); ++s) {
    const StatsReply& stats = outcome.rows.stats[s];
    report.shards.push_back({.name = shards[s].name,
                             .rows = outcome.rows.shard_rows[s],
                             .rows_pulled = stats.rows_pulled,
                             .rows_pushed = stats.rows_pushed,
                             .cache_hits = stats.cache_hits,
                             .cache_misses = stats.cache_misses,
                             .rows_evicted = stats.rows_evicted,
                             .rows_written = stats.rows_written,
                             .rows_overflowed = stats.rows_overflowed,
                             .cache_rows = stats.cache_rows,
                             .cache_bytes = stats.cache_bytes,
                             .rows_announced = stats.rows_announced,
                             .rows_prefetched = stats.rows_prefetched,
                             .pulls = stats.pulls,
                             .pulls_from_store = stats.pulls_from_store,
                             .rows_swept = stats.rows_swept,
                             .log_bytes = stats.log_bytes,
                             .store_rows_read = stats.store_rows_read,
                             .store_stalls = stats.store_stalls,
                             .store_stall_ms = stats.store_stall_ms,
                             .store_bytes_read = stats.store_bytes_read,
                             .store_bytes_written = stats.store_bytes_written,
                             .cache_bytes_moved = stats.cache_bytes_moved});
  }
  return report;
}

void PrintStopped(const TrainingSummary& summary, uint64_t last_step, bool is_saved) {
  fmt::print(
      "stopped at step {} of {} by {}; {}\n", summary.steps_done, last_step,
      summary.was_told_to_stop ? StopSignalName() : "--stop_after_steps",
      is_saved ? "go on with --load" : "nothing was saved, for want of --model_dir: start anew");
  std::fflush(stdout);
}

void PrintOutcome(const RunOutcome& outcome, const std::string& report_path) {
  const Evaluation& evaluation = outcome.evaluation;
  fmt::print("rows digest: {}\n", outcome.rows.digest);
  if (outcome.auc_ceiling >= 0.0) {
    fmt::print("AUC ceiling of the planted model on these test samples: {:.4f}\n",
               outcome.auc_ceiling);
  }
  fmt::print("{}", WarningOfOnlyPrediction(evaluation));
  std::string tested = outcome.summary.was_told_to_stop ? "not tested" : "no test samples";
  if (evaluation.samples > 0) {
    tested = fmt::format("test AUC {:.4f} logloss {:.4f}", evaluation.metrics.roc_auc,
                         evaluation.metrics.logloss);
  }
  fmt::print("{}  {:.0f} samples/s{}\n", tested, RateOf(outcome.summary),
             report_path.empty() ? "" : "  report: " + report_path);
  std::fflush(stdout);
}

}  // namespace rowhouse
