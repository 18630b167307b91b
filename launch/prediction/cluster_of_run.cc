// ClusterOf: see workload_of_run.h. The flags of plan that describe a cluster are declared here.
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/workload_of_run.h"
#include "sharding/lab/cost/worker_memory.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(
    AddVerbFlag({.name = "workers",
                 .verbs = kPlan,
                 .help = "Workers of the cluster that is predicted",
                 .default_text = "1",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "hosts",
                 .verbs = kPlan,
                 .help = "Hosts that PS nodes and workers of a prediction are dealt to in turn",
                 .default_text = "1",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "cores_per_host",
                 .verbs = kPlan,
                 .help = "Cores of each host of a prediction; 0: as calibrated",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "network_gbits",
                 .verbs = kPlan,
                 .help = "Gbit/s of each host's network, each way, of a prediction; 0: loopback",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "round_trip_us",
                 .verbs = kPlan,
                 .help = "Microseconds of a round trip between hosts of a prediction",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "ps_memory_mb",
                 .verbs = kPlan,
                 .help = "Most memory of a PS node for cached rows in a prediction, MiB; caches of "
                         "more than it leaves are predicted as large as that; 0: any",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "ps_disk_mb",
                 .verbs = kPlan,
                 .help = "Most disk of a PS node for rows and state in a prediction, MiB; 0: any",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "worker_memory_mb",
                 .verbs = kPlan,
                 .help = "Most memory of a worker for rows and dense layers in a prediction, MiB; "
                         "0: an equal part of its host's",
                 .default_text = "0",
                 .section = kLabSection}));

// 0 says that there is none.
Result<double> RealOf(const CommandLine& command_line, const char* flag) {
  const std::string text = command_line.Value(flag);
  if (text.empty()) return 0.0;
  const auto value = ReadReal(text);
  if (value && (*value == 0 || (*value >= 1e-3 && *value <= 1e9))) return *value;
  return UsageError("--{}={}: expected 0, or a number from 0.001 to 1e9", flag, text);
}

}  // namespace

ClusterShape ClusterOf(const Settings& settings, uint32_t ps, uint32_t shards_per_ps,
                       uint32_t workers) {
  ClusterShape cluster;
  cluster.ps = ps;
  cluster.shards_per_ps = shards_per_ps;
  cluster.workers = workers;
  cluster.threads = settings.training.threads;
  return cluster;
}

Result<ClusterShape> ClusterOf(const Settings& settings, const CommandLine& command_line) {
  if (settings.cluster.ps == 0 && settings.cluster.ps_endpoints.empty()) {
    return UsageError("--ps=0 leaves nobody to hold the rows; say --ps=1 or more");
  }
  if (settings.cluster.ps_per_host > 0) {
    return UsageError("--ps_per_host={}: say --ps=N, the PS nodes of all hosts together",
                      settings.cluster.ps_per_host);
  }
  constexpr uint64_t kMaxRanks = 1 << 16, kMaxMib = uint64_t{1} << 40;
  const auto ps =
      settings.cluster.ps > 0
          ? static_cast<uint32_t>(settings.cluster.ps)
          : std::max<uint32_t>(1, static_cast<uint32_t>(settings.cluster.ps_endpoints.size()));
  ASSIGN_OR_RETURN(const uint64_t workers, WholeFlag(command_line, "workers", 1, 1, kMaxRanks));
  ClusterShape cluster =
      ClusterOf(settings, ps, settings.cluster.shards, static_cast<uint32_t>(workers));
  ASSIGN_OR_RETURN(const uint64_t hosts, WholeFlag(command_line, "hosts", 1, 1, kMaxRanks));
  ASSIGN_OR_RETURN(const uint64_t cores,
                   WholeFlag(command_line, "cores_per_host", 0, 0, kMaxRanks));
  ASSIGN_OR_RETURN(cluster.network_gbits, RealOf(command_line, "network_gbits"));
  ASSIGN_OR_RETURN(cluster.round_trip_us, RealOf(command_line, "round_trip_us"));
  ASSIGN_OR_RETURN(const uint64_t memory, WholeFlag(command_line, "ps_memory_mb", 0, 0, kMaxMib));
  ASSIGN_OR_RETURN(const uint64_t disk, WholeFlag(command_line, "ps_disk_mb", 0, 0, kMaxMib));
  ASSIGN_OR_RETURN(const uint64_t of_worker,
                   WholeFlag(command_line, "worker_memory_mb", 0, 0, kMaxMib));
  cluster.hosts = static_cast<uint32_t>(hosts);
  cluster.cores_per_host = static_cast<uint32_t>(cores);
  cluster.ps_memory_bytes = memory << 20;
  cluster.ps_disk_bytes = disk << 20;
  cluster.worker_memory_bytes = of_worker << 20;
  return cluster;
}

Result<uint64_t> WholeFlag(const CommandLine& command_line, const char* flag, uint64_t otherwise,
                           uint64_t least, uint64_t most) {
  const std::string text = command_line.Value(flag);
  if (text.empty()) return otherwise;
  const auto value = ReadWhole(text);
  if (value && *value >= least && *value <= most) return *value;
  return UsageError("--{}={}: expected a whole number from {} to {}", flag, text, least, most);
}

std::string LimitsText(const ClusterShape& cluster, const Machine& machine, uint64_t ps_rows_mb) {
  std::string text;
  const auto add = [&text](const std::string& limit) {
    text += (text.empty() ? " (" : ", ") + limit;
  };
  if (ps_rows_mb > 0) add(fmt::format("--ps_rows_mb={}", ps_rows_mb));
  const auto add_flag = [&](const char* flag, uint64_t bytes) {
    if (bytes > 0) add(fmt::format("--{}={}", flag, bytes >> 20));
  };
  add_flag("ps_memory_mb", cluster.ps_memory_bytes);
  add_flag("ps_disk_mb", cluster.ps_disk_bytes);
  add_flag("worker_memory_mb", cluster.worker_memory_bytes);
  const uint64_t share = WorkerMemoryLimit(cluster, machine);
  if (cluster.worker_memory_bytes == 0 && share > 0) {
    add(
        fmt::format("a worker has its share of its host's memory, {} MiB, if there is no "
                    "--worker_memory_mb=N",
                    share >> 20));
  }
  return text.empty() ? "" : text + ")";
}

}  // namespace rowhouse
