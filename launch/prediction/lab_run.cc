#include "launch/prediction/lab_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/counted.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/figure_text.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/lab/traffic/cache_shares.h"

namespace rowhouse {

Status TakeShapeOfPlan(LabRun* run) {
  const Settings& settings = run->settings;
  const bool is_file = !settings.sharding.plan.empty() && !AsksForPlanner(settings.sharding.plan);
  if (!is_file || settings.cluster.ps > 0 || !settings.cluster.ps_endpoints.empty()) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const PlanFile file, ReadPlanOf(settings));
  run->cluster.ps = file.ps;
  run->cluster.shards_per_ps = file.shards_per_ps;
  return OkStatus();
}

void FitCaches(LabRun* run) {
  const uint64_t limit = run->cluster.ps_memory_bytes;
  StorageShape& storage = run->workload.storage;
  if (limit == 0 || !storage.has_files) return;
  storage.cache_bytes = std::min(storage.cache_bytes, CacheWithin(run->workload, limit));
}

Status CheckHosts(const ClusterShape& cluster) {
  const uint64_t ranks = uint64_t{cluster.ps} + cluster.workers;
  if (cluster.hosts <= ranks) return OkStatus();
  return UsageError("--hosts={}: {} and {} are {} ranks, so the other hosts would be empty",
                    cluster.hosts, Counted(cluster.ps, "PS node"),
                    Counted(cluster.workers, "worker"), ranks);
}

std::string NetworkNote(const ClusterShape& cluster) {
  if (cluster.hosts <= 1) return "";
  if (cluster.network_gbits <= 0) {
    return "hosts exchange bytes as fast as processes of one host; --network_gbits=N and "
           "--round_trip_us=N say what lies between them";
  }
  if (cluster.round_trip_us <= 0) {
    return "messages between hosts have no delay; --round_trip_us=N says one";
  }
  return "";
}

std::string CachesNote(const LabRun& run) {
  const uint64_t cache = run.workload.storage.cache_bytes >> 20;
  if (cache >= run.settings.storage.cache_mb) return "";
  return fmt::format(
      "caches: {} MiB on each PS node, what --ps_memory_mb={} leaves of --cache_mb={}; such a run "
      "needs --cache_mb={}",
      cache, run.cluster.ps_memory_bytes >> 20, run.settings.storage.cache_mb, cache);
}

Result<uint64_t> MaxSamplesOf(const CommandLine& command_line) {
  uint64_t samples = 0;
  RETURN_IF_ERROR(ReadFlag(command_line, kMaxSamplesFlag, WholeValue<uint64_t>(1), &samples));
  return samples;
}

bool AreTablesSaid(const CommandLine& command_line, const Settings& settings) {
  return !command_line.Value(kConfigFlag).empty() || settings.are_tables_given;
}

Status CheckTablesAreSaid(const CommandLine& command_line, const Settings& settings) {
  const std::string trace = command_line.Value(kTraceFlag);
  if (trace.empty() || AreTablesSaid(command_line, settings)) return OkStatus();
  return UsageError(
      "--trace={}: a prediction needs the model whose tables it looks up; say --config=FILE as "
      "well",
      trace);
}

Result<LabRun> LabRunOf(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(CheckTablesAreSaid(command_line, settings));
  LabRun run;
  run.settings = settings;
  ASSIGN_OR_RETURN(run.accesses, GivenAccessCounts(settings));
  const std::string trace = command_line.Value(kTraceFlag);
  run.ids = IdsAreFrom(settings, !trace.empty());
  ASSIGN_OR_RETURN(run.cluster, ClusterOf(settings, command_line));
  RETURN_IF_ERROR(TakeShapeOfPlan(&run));
  RETURN_IF_ERROR(CheckHosts(run.cluster));
  if (trace.empty()) {
    ASSIGN_OR_RETURN(run.workload, WorkloadOf(settings, run.cluster.workers, run.counts()));
  } else {
    const uint64_t samples = settings.data.mini_batch_size * settings.training.accumulation;
    ASSIGN_OR_RETURN(const uint64_t most, MaxSamplesOf(command_line));
    ASSIGN_OR_RETURN(TraceSummary summary,
                     ReadTraceSummary(trace, settings.embedding,
                                      {.step_samples = samples, .max_samples = most}));
    if (const std::string note = TraceNotes(summary); !note.empty()) run.ids += "; " + note;
    ASSIGN_OR_RETURN(run.workload, TracedWorkload(settings, run.cluster.workers, summary));
    run.accesses = std::move(summary.accesses);
  }
  ASSIGN_OR_RETURN(run.machine, MachineOf(settings.sharding.calibration));
  FitCaches(&run);
  return run;
}

std::string LabRunText(const LabRun& run) {
  const ClusterShape& cluster = run.cluster;
  const Machine& machine = run.machine.machine;
  std::string text = fmt::format(
      "cluster: {} of {}, {} of {} on {} of {}", Counted(cluster.ps, "PS node"),
      Counted(cluster.shards_per_ps, "shard"), Counted(cluster.workers, "worker"),
      Counted(cluster.threads, "thread"), Counted(cluster.hosts, "host"),
      Counted(cluster.cores_per_host > 0 ? cluster.cores_per_host : machine.cores, "core"));
  if (cluster.network_gbits > 0) text += fmt::format(", {} Gb/s", cluster.network_gbits);
  if (cluster.round_trip_us > 0)
    text += fmt::format(", {} us there and back", cluster.round_trip_us);
  text += fmt::format("; {} samples a step\n",
                      CountText(static_cast<double>(run.workload.step.samples)));
  if (const std::string note = NetworkNote(cluster); !note.empty()) {
    text += fmt::format("note: {}\n", note);
  }
  return text + LabRunNotes(run);
}

std::string LabRunNotes(const LabRun& run) {
  const Machine& machine = run.machine.machine;
  std::string text =
      fmt::format("machine: {}\n", run.machine.path.empty()
                                       ? "typical figures"
                                       : fmt::format("{}, measured {} ({})", machine.host,
                                                     machine.measured_at, run.machine.path));
  text += fmt::format("lookups: {}\n", run.ids);
  if (const std::string note = CachesNote(run); !note.empty()) text += note + "\n";
  if (!run.machine.warning.empty()) text += fmt::format("warning: {}\n", run.machine.warning);
  return text;
}

}  // namespace rowhouse
