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
  double gbs = 0;       // of a host
  double least_ms = 0;  // if hosts share the bytes evenly
};

OfPlan MemoryOf(const LabRun& run, const CandidatePlan& candidate) {
  const CpuMemory memory = CpuMemoryOf(run.machine.machine);
  OfPlan of{.traffic = MemoryTrafficOf(run.workload, candidate.plan, memory),
            .gbs = memory.dram_gbs};
  of.least_ms = of.traffic.total() / std::max(1u, run.cluster.hosts) / of.gbs / 1e6;
  return of;
}

}  // namespace

std::string MemoryTrafficText(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  const auto mb = [](double bytes) { return fmt::format("{:.3g}", bytes / 1e6); };
  return fmt::format(
      "\nThe rows of a step of {} are {} MB in lines of 64 bytes ({} pulled, {} pooled, {} "
      "updated):\nat {:.3g} GB/s of memory {:.3g} ms, {} of the step.\n",
      candidate.name, mb(of.traffic.total()), mb(of.traffic.pull), mb(of.traffic.pool),
      mb(of.traffic.update), of.gbs, of.least_ms,
      PercentText(candidate.cost.ms > 0 ? of.least_ms / candidate.cost.ms : 0));
}

nlohmann::ordered_json MemoryTrafficToJson(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  return {{"pull_bytes", of.traffic.pull},
          {"pool_bytes", of.traffic.pool},
          {"update_bytes", of.traffic.update},
          {"bytes", of.traffic.total()},
          {"dram_gbs", of.gbs},
          {"least_ms", of.least_ms}};
}

}  // namespace rowhouse
