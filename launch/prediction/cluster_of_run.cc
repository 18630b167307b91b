// ClusterOf: see workload_of_run.h. The flags of plan that describe a cluster are declared here.
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/lab_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "sharding/lab/cost/worker_memory.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(
    AddLabFlag("workers", "Workers of the cluster that is predicted", "1") &&
    AddLabFlag("hosts", "Hosts that PS nodes and workers of a prediction are dealt to in turn",
               "1") &&
    AddLabFlag("cores_per_host", "Cores of each host of a prediction; 0: as calibrated", "0") &&
    AddLabFlag("network_gbits",
               "Gbit/s of each host's network, each way, of a prediction; 0: loopback", "0") &&
    AddLabFlag("round_trip_us", "Microseconds of a round trip between hosts of a prediction",
               "0") &&
    AddLabFlag("ps_memory_mb",
               "Most memory of a PS node for cached rows in a prediction, MiB; caches of "
               "more than it leaves are predicted as large as that; 0: any",
               "0") &&
    AddLabFlag("ps_disk_mb",
               "Most disk of a PS node for rows and state in a prediction, MiB; 0: any", "0") &&
    AddLabFlag("worker_memory_mb",
               "Most memory of a worker for rows and dense layers in a prediction, MiB; "
               "0: an equal part of its host's",
               "0"));

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

Status CheckNodes(const ClusterSettings& cluster) {
  if (cluster.ps == 0 && cluster.ps_endpoints.empty()) {
    return UsageError("--ps=0 leaves nobody to hold the rows; say --ps=1 or more");
  }
  if (cluster.ps_per_host > 0) {
    return UsageError(
        "--ps_per_host={}: how many hosts there will be is not known here; say --ps=N, the PS "
        "nodes of all hosts together",
        cluster.ps_per_host);
  }
  return OkStatus();
}

Result<ClusterShape> ClusterOf(const Settings& settings, const CommandLine& command_line) {
  RETURN_IF_ERROR(CheckNodes(settings.cluster));
  constexpr uint32_t kMaxRanks = 1 << 16;
  constexpr uint64_t kMaxMib = uint64_t{1} << 40;
  ClusterShape cluster =
      ClusterOf(settings, PsNodesOf(settings.cluster), settings.cluster.shards, 1);
  const auto ranks = [](uint32_t least) { return WholeValue<uint32_t>(least, kMaxRanks); };
  RETURN_IF_ERROR(ReadFlag(command_line, "workers", ranks(1), &cluster.workers));
  RETURN_IF_ERROR(ReadFlag(command_line, "hosts", ranks(1), &cluster.hosts));
  RETURN_IF_ERROR(ReadFlag(command_line, "cores_per_host", ranks(0), &cluster.cores_per_host));
  const auto network = RealValue<double>("0, or a number from 0.001 to 1e9", [](double value) {
    return value == 0 || (value >= 1e-3 && value <= 1e9);
  });
  RETURN_IF_ERROR(ReadFlag(command_line, "network_gbits", network, &cluster.network_gbits));
  RETURN_IF_ERROR(ReadFlag(command_line, "round_trip_us", network, &cluster.round_trip_us));
  for (const auto& [flag, bytes] : {std::pair{"ps_memory_mb", &cluster.ps_memory_bytes},
                                    std::pair{"ps_disk_mb", &cluster.ps_disk_bytes},
                                    std::pair{"worker_memory_mb", &cluster.worker_memory_bytes}}) {
    uint64_t mib = 0;
    RETURN_IF_ERROR(ReadFlag(command_line, flag, WholeValue<uint64_t>(0, kMaxMib), &mib));
    *bytes = mib << 20;
  }
  return cluster;
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
