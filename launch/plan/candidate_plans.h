// CandidatePlan: one way to place a run's tables, with its predicted cost, for
// `rowhouse plan --strategies`.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/prediction/lab_run.h"
#include "sharding/lab/cost/step_cost.h"
#include "sharding/lab/planner/planner.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// The name of the planner's own plan.
inline constexpr std::string_view kPlannedName = "auto";
// Behind the name of a strategy: shards pool bags.
inline constexpr std::string_view kBagsSuffix = "+bags";

struct CandidatePlan {
  // The largest value over PS nodes, and the mean.
  struct OverNodes {
    double max = 0;
    double mean = 0;
    double max_over_mean() const { return mean > 0 ? max / mean : 1.0; }
  };
  std::string name;            // "row_wise", "row_wise+bags", "auto", the path of a plan file
  std::string title;           // as people see it: the plan file's own name, if it has one, or name
  bool is_configured = false;  // the settings ask for it
  std::string refused;         // the reason; "" if it can be, and only then the rest is set
  Plan plan;
  StepCost cost;
  std::vector<TableDecision> tables;  // of auto: each physical table; of others: empty
  std::string method;                 // of auto: how it was found
  OverNodes memory;                   // bytes of the PS nodes
  OverNodes load;                     // rows that they give in a step
};

// The names that `--strategies` asks for: of "all" every strategy, each also with "+bags", and
// "auto"; files of plans, which end with .json or have a slash. kUsage, naming the nearest one, for
// a name that is none; `flag`: as messages name it.
Result<std::vector<std::string>> CandidateNames(const std::string& value,
                                                const std::string& flag = "--strategies");

// The candidate that the settings ask for: the plan they name, or else their strategy.
std::string ConfiguredName(const Settings& settings);

// The candidates that can be, by rising predicted time of a step; then the others. The plan that
// the settings name is one of them, by the name of its file. A plan that a PS node has no room for
// is refused. kUsage only if the machine lacks a kernel.
Result<std::vector<CandidatePlan>> MakeCandidates(const LabRun& run,
                                                  std::span<const std::string> names);

// One of them; of ConfiguredName() the plan of the run itself.
Result<CandidatePlan> MakeCandidate(const LabRun& run, const std::string& name);

// The one that the settings ask for; else the first; null if all are refused.
const CandidatePlan* ConfiguredOf(std::span<const CandidatePlan> candidates);
// The fastest; null if all are refused.
const CandidatePlan* BestOf(std::span<const CandidatePlan> candidates);

// A change of one thing of a run, with its predicted effect.
struct Saving {
  std::string what;          // "twice the cache"
  std::string how;           // "--cache_mb=512"
  double ms = 0;             // a step, predicted with the change
  double share = 0;          // of the time that it saves; < 0: it costs time
  std::string refused = {};  // why it cannot be; then the figures are not set
};

// Changes of `from`, one of `candidates`, those that save most first: the best strategy, more
// cache, narrower rows, more PS nodes, workers, threads and network. Those that do not apply are
// left out.
Result<std::vector<Saving>> SavingsOf(const LabRun& run, const CandidatePlan& from,
                                      std::span<const CandidatePlan> candidates);

// What a plan does with a table: "whole on PS node 3", "rows over 8 shards", "on the workers".
std::string PlacementText(const LabRun& run, const Plan& plan, TableId table);

}  // namespace rowhouse
