#include "launch/lab/scaling_sweep.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "launch/prediction/auto_plan.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
namespace {

// Plans of the points: by a strategy one for each number of PS nodes, by the planner one for each
// point, as it looks at workers, samples and network as well.
class PlansOfPoints {
 public:
  explicit PlansOfPoints(const LabRun& run) : run_(run) {}

  Status PlaceBefore(const std::vector<uint32_t>& ps) {
    if (IsPlannedAnew(run_)) return OkStatus();
    if (const std::string& given = run_.settings.sharding.plan; !given.empty()) {
      return UsageError(
          "--plan={}: a plan is of one number of PS nodes, and --scaling simulates several; say "
          "--plan=auto, or --strategy=NAME",
          given);
    }
    for (const uint32_t nodes : ps) {
      ASSIGN_OR_RETURN(plans_[nodes],
                       PlanOf(run_.settings, nodes, run_.cluster.shards_per_ps, run_.counts()));
    }
    return OkStatus();
  }

  Result<Plan> For(const Workload& workload, const ClusterShape& cluster) const {
    if (const auto placed = plans_.find(cluster.ps); placed != plans_.end()) return placed->second;
    ASSIGN_OR_RETURN(PlannedRun planned,
                     AutoPlanOf(run_.settings, workload, cluster, run_.machine.machine));
    RETURN_IF_ERROR(CheckPlanOfRun(run_.settings, planned.plan, cluster.shards_per_ps));
    return std::move(planned.plan);
  }

 private:
  const LabRun& run_;
  std::map<uint32_t, Plan> plans_;  // by PS nodes
};

Result<ScalingPoint> Point(const LabRun& run, const ScalingOptions& options,
                           const PlansOfPoints& plans, ScalingPoint point) {
  Workload workload = run.workload;
  SetStep(point.samples, point.workers, &workload);
  // Curves of a trace are of steps as large as the config's.
  if (point.samples != run.workload.step.samples) workload.lru_miss_ratio.clear();
  ClusterShape cluster = run.cluster;
  cluster.round_trip_us = options.round_trip_us;
  cluster.network_gbits = point.network_gbits;
  cluster.ps = point.ps;
  cluster.workers = point.workers;
  cluster.hosts = cluster.ps + cluster.workers;
  const Machine& machine = run.machine.machine;
  ASSIGN_OR_RETURN(const Plan plan, plans.For(workload, cluster));
  ASSIGN_OR_RETURN(point.run, Simulate(workload, plan, cluster, machine, options.simulator));
  ASSIGN_OR_RETURN(point.predicted, PredictStep(workload, plan, cluster, machine));
  return point;
}

}  // namespace

bool IsPlannedAnew(const LabRun& run) { return AsksForPlanner(run.settings.sharding.plan); }

Result<std::vector<ScalingPoint>> SweepScaling(const LabRun& run, const ScalingOptions& options) {
  PlansOfPoints plans(run);
  RETURN_IF_ERROR(plans.PlaceBefore(options.ps));
  std::vector<ScalingPoint> points;
  const uint64_t configured = run.workload.step.samples;
  for (const bool is_weak : {true, false}) {
    for (const double gbits : options.networks_gbits) {
      for (const uint32_t ps : options.ps) {
        for (const uint32_t workers : options.workers) {
          if (!is_weak && configured < workers) continue;
          const uint64_t samples = is_weak ? options.samples_per_worker * workers : configured;
          Result<ScalingPoint> point = Point(run, options, plans,
                                             {.is_weak = is_weak,
                                              .network_gbits = gbits,
                                              .ps = ps,
                                              .workers = workers,
                                              .samples = samples});
          if (!point.ok()) {
            return point.status().Annotate(fmt::format("{} PS and {} workers", ps, workers));
          }
          points.push_back(std::move(point).value());
        }
      }
    }
  }
  return points;
}

}  // namespace rowhouse
