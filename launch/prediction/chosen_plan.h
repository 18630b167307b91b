// ChosenPlan: what a run with --plan=auto trains with: the planner's plan, or the configured one.
//
// Predictions err, and those for a host that nobody measured err by factors. So the planner's plan
// is taken only if this host was calibrated and the plan saves more than the error.
//
// Threads: pure functions, but for reading files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/settings/settings.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// The error of predicted steps on a calibrated host (docs/cost_model.md).
inline constexpr double kModelError = 0.10;

// The hosts of a run.
struct RunHosts {
  uint32_t hosts = 1;
  uint32_t cores = 0;  // of the host with the fewest; 0: not known
};

// What the planner's plan was taken for.
struct PlanPromise {
  double ms = 0;             // a step, predicted
  double configured_ms = 0;  // with the configured plan
  std::string configured;    // "strategy row_wise"
};

struct ChosenPlan {
  Plan plan;
  std::optional<PlanPromise>
      promise;       // none: the plan is the configured one, or nothing else can be
  std::string text;  // for people: what was proposed, what is used, and why
};

// Requires settings that are Validate()d and ask for the planner. The planner's plan also where the
// configured one cannot be. kUsage as AutoPlanOf.
Result<ChosenPlan> ChoosePlan(const Settings& settings, uint32_t nodes, uint32_t shards_per_node,
                              uint32_t workers, const RunHosts& hosts);

// The plan that `strategy` and `pool_on` of such settings make; errors as PlanOf.
Result<Plan> ConfiguredPlanOf(const Settings& settings, uint32_t nodes, uint32_t shards_per_node);

// A line that says by how much the median step of a run missed the promise; "": it kept it.
std::string BrokenPromiseText(const PlanPromise& promise, double median_step_ms);

}  // namespace rowhouse
