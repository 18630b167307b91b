// PlanLimits: whether the ranks of a cluster have room for their parts of a plan.
//
// All objects that it is made of outlive it. Threads: const functions may be shared.
#pragma once

#include <string>

#include "sharding/lab/cost/step_cost.h"
#include "sharding/lab/planner/plan_draft.h"

namespace rowhouse {

class PlanLimits {
 public:
  PlanLimits(const Workload& workload, const ClusterShape& cluster, const NodeLimits& limits)
      : workload_(workload), cluster_(cluster), limits_(limits) {}

  // Why the plan breaks a limit: rank, table, and by how much; "" if it keeps to all of them.
  // `cost`: PredictStep's of the plan.
  std::string WhyTooMuch(const Plan& plan, const StepCost& cost) const;

  // The largest ratio of what a rank needs to what it may have, over all limits; 0: there are no
  // limits.
  double OverloadOf(const Plan& plan, const StepCost& cost) const;

 private:
  std::string LargestOnNode(const Plan& plan, size_t node) const;
  // Of the node with most bytes.
  std::string WhyTooMuchOnNode(const Plan& plan, const std::vector<double>& bytes, uint64_t limit,
                               const char* what) const;

  const Workload& workload_;
  const ClusterShape& cluster_;
  const NodeLimits& limits_;
};

}  // namespace rowhouse
