#include "launch/lab/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/report/figure_text.h"
#include "sharding/cost/memory_traffic.h"

namespace rowhouse {
namespace {

struct OfPlan {
  MemoryTraffic traffic;
  double gbs = 0;      // of a host
  double busiest = 0;  // bytes of the host that moves most
  double least_ms = 0;
};

OfPlan MemoryOf(const LabRun& run, const CandidatePlan& candidate) {
  const CpuMemory memory = CpuMemoryOf(run.machine.machine);
  OfPlan of{.traffic = MemoryTrafficOf(run.workload, candidate.plan, memory),
            .gbs = memory.dram_gbs};
  of.busiest = BytesOfBusiestHost(of.traffic, run.cluster);
  of.least_ms = of.busiest / of.gbs / 1e6;
  return of;
}

}  // namespace

std::string MemoryTrafficText(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  const auto mb = [](double bytes) {
    return bytes < 1e9 ? fmt::format("{:.3g}", bytes / 1e6) : CountText(bytes / 1e6);
  };
  const bool has_sum = of.traffic.sum > 0;
  return fmt::format(
      "\nThe rows of a step of {} are {} MB in lines of 64 bytes ({} pulled, {} pooled, {} "
      "updated{}):\n{}at {:.3g} GB/s of memory {:.3g} ms, {} of the step.\n",
      candidate.title, mb(of.traffic.total()), mb(of.traffic.pull), mb(of.traffic.pool),
      mb(of.traffic.update),
      has_sum ? fmt::format(", {} of gradients summed on the workers", mb(of.traffic.sum)) : "",
      run.cluster.hosts > 1 ? fmt::format("{} MB of them on the busiest host, ", mb(of.busiest))
                            : "",
      of.gbs, of.least_ms,
      PercentText(candidate.cost.ms > 0 ? of.least_ms / candidate.cost.ms : 0));
}

nlohmann::ordered_json MemoryTrafficToJson(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  return {{"pull_bytes", of.traffic.pull},
          {"pool_bytes", of.traffic.pool},
          {"update_bytes", of.traffic.update},
          {"sum_bytes", of.traffic.sum},
          {"bytes", of.traffic.total()},
          {"busiest_host_bytes", of.busiest},
          {"dram_gbs", of.gbs},
          {"least_ms", of.least_ms}};
}

}  // namespace rowhouse
