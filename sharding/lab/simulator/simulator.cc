#include "sharding/lab/simulator/simulator.h"

#include "common/counted.h"
#include "sharding/lab/simulator/cluster_simulation.h"
#include "sharding/lab/simulator/step_work.h"

namespace rowhouse {
namespace {

constexpr uint32_t kMaxRanks = 4096;
constexpr uint64_t kMaxSteps = 1'000'000;

Status Check(const ClusterShape& cluster, const SimulatorOptions& options) {
  const uint64_t ranks = uint64_t{cluster.ps} + cluster.workers;
  if (cluster.ps < 1 || cluster.workers < 1 || ranks > kMaxRanks) {
    return UsageError("a simulation of {} and {}: expected 1 or more of each, and at most {} ranks",
                      Counted(cluster.ps, "PS node"), Counted(cluster.workers, "worker"),
                      kMaxRanks);
  }
  if (cluster.hosts < 1) return UsageError("a simulation on 0 hosts: expected 1 or more");
  if (options.steps < 1 || options.steps > kMaxSteps) {
    return UsageError("a simulation of {} steps: expected 1 to {}", options.steps, kMaxSteps);
  }
  if (!(options.jitter >= 0 && options.jitter <= 2)) {
    return UsageError("a jitter of {}: expected a share of the time, 0 to 2", options.jitter);
  }
  return OkStatus();
}

}  // namespace

Result<SimulatedRun> Simulate(const Workload& workload, const Plan& plan,
                              const ClusterShape& cluster, const Machine& machine,
                              const SimulatorOptions& options) {
  RETURN_IF_ERROR(Check(cluster, options));
  ASSIGN_OR_RETURN(const StepWork work, StepWorkOf(workload, plan, cluster, machine));
  return ClusterSimulation(work, options).Run();
}

}  // namespace rowhouse
