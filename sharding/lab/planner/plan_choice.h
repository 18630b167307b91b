// PlanChoice: candidates are predicted, one after the other, and the best one is kept; then single
// tables of it are placed otherwise as long as that is predicted to be faster.
//
// A prediction takes time that grows with tables and shards, so that their number is limited.
// Threads: one.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sharding/lab/cost/step_cost.h"
#include "sharding/lab/planner/plan_draft.h"
#include "sharding/lab/planner/plan_limits.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

class PlanChoice {
 public:
  // All of them outlive this object.
  PlanChoice(const Workload& workload, const ClusterShape& cluster, const Machine& machine,
             const PlannerOptions& options, const NodeLimits& limits, const TableForms& forms);

  // Predicts the plan; it becomes the best one if it keeps to the limits and is faster. Returns
  // errors of the prediction, not of the plan.
  Status Try(const Plan& plan, const std::string& name);
  // The same for parts that may make no plan at all: these are passed over.
  Status Try(const PlanByTable& parts, const std::string& name);

  // Every strategy for all tables, with workers pooling and with shards pooling where it is better.
  Status TryStrategies();
  // Other places of single tables, table by table, of few tables two at a time, until nothing
  // helps.
  Status Refine();
  // Predicts a plan that is meant to be more even. It replaces the best one if it is faster, or if
  // it is clearly more even and takes at most 1 % longer than the fastest, which no prediction can
  // tell apart, and no longer than table_wise_lpt. Its cost; nullopt if it is no plan.
  Result<std::optional<StepCost>> TryEven(const PlanByTable& parts);
  // Gives the best plan the cache shares that save most reads, unless it is slower with them,
  // or has fewer hits.
  Status ShareCaches();
  // Whether predictions have taken as long as they may; a few are always made.
  bool is_tired() const { return tried_ >= most_tried_; }
  bool has_plan() const { return best_.has_value(); }
  const Plan& plan() const { return *best_; }
  const StepCost& cost() const { return cost_; }
  const std::string& name() const { return name_; }
  uint64_t tried() const { return tried_; }
  // Why the plan that was passed over and breaks the limits least does so; "": none did.
  const std::string& refusal() const { return refusal_; }

 private:
  Status RefineTables(uint64_t most);
  Status RefinePairs(uint64_t most);

  const Workload& workload_;
  const ClusterShape& cluster_;
  const Machine& machine_;
  const PlannerOptions& options_;
  const PlanLimits limits_;
  const uint32_t shards_;
  const TablePlaces places_;
  uint64_t most_tried_ = 0;  // by TryStrategies and Refine
  uint64_t tried_ = 0;
  std::optional<Plan> best_;
  StepCost cost_;
  std::string name_, refusal_;
  double least_overload_ = 0;  // of refusal_
  double last_ms_ = 0;         // of the plan that was predicted last
  double least_ms_ = std::numeric_limits<double>::infinity();  // of all that were the best plan
  double least_ms_of_lpt_ = std::numeric_limits<double>::infinity();
};

// How the caches of a plan's shards are divided among its tables so that the fewest
// rows are read from the store. As the shards divide them when they know the accesses
// (ps/cache/cache_ledger.h), but from the workload, before the run begins. Threads: pure
// function.
//
// Cache shares for Plan::WithCacheShares, one for each physical table. Shares grow, one after the
// other, where the next bytes save most reads, until a shard of the table is full: greedy, which is
// optimal on one shard where curves of hits are concave. Tables on the workers, and tables whose
// shards have room for all their rows, have none. With the store "memory" nothing is read, so there
// are none.
std::vector<std::optional<double>> ChooseCacheShares(const Workload& workload, const Plan& plan,
                                                     uint32_t shards_per_ps);

}  // namespace rowhouse
