#include "launch/lab/scaling_sweep.h"

#include <utility>

#include "launch/plan/plan_of_run.h"

namespace rowhouse {

Result<std::vector<ScalingPoint>> SweepScaling(const LabRun& run, const ScalingOptions& options) {
  std::vector<Plan> plans;
  for (const uint32_t ps : options.ps) {
    ASSIGN_OR_RETURN(Plan plan, PlanOf(run.settings, ps, run.cluster.shards_per_ps, run.counts()));
    plans.push_back(std::move(plan));
  }
  std::vector<ScalingPoint> points;
  Workload workload = run.workload;
  ClusterShape cluster = run.cluster;
  cluster.round_trip_us = options.round_trip_us;
  const Machine& machine = run.machine.machine;
  const uint64_t configured = run.workload.step.samples;
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      for (size_t p = 0; p < options.ps.size(); ++p) {
        for (const uint32_t workers : options.workers) {
          if (!is_weak && configured < workers) continue;
          cluster.ps = options.ps[p];
          cluster.workers = workload.step.workers = workers;
          cluster.hosts = cluster.ps + cluster.workers;
          cluster.network_gbits = gbits;
          workload.step.samples = is_weak ? options.samples_per_worker * workers : configured;
          ASSIGN_OR_RETURN(SimulatedRun simulated,
                           Simulate(workload, plans[p], cluster, machine, options.simulator));
          ASSIGN_OR_RETURN(StepCost predicted, PredictStep(workload, plans[p], cluster, machine));
          points.push_back({.is_weak = is_weak,
                            .network_gbits = gbits,
                            .ps = cluster.ps,
                            .workers = workers,
                            .samples = workload.step.samples,
                            .run = std::move(simulated),
                            .predicted = std::move(predicted)});
        }
      }
    }
  }
  return points;
}

}  // namespace rowhouse
