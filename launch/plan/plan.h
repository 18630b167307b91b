// rowhouse plan. Threads: the main thread.
#pragma once

#include <optional>
#include <string>

#include "common/status.h"
#include "launch/prediction/lab_run.h"
#include "launch/settings/settings.h"
#include "sharding/tables/load_balance_manager.h"

namespace rowhouse {

struct PlanRequest {
  bool wants_sizes = false;
  bool wants_counts = false;   // --count_ids
  bool wants_plan = false;     // --out, --measured, --plan or --strategy was given, and no counts
  bool has_model = false;      // --config or a flag of the model was given
  std::string json = {};       // --json; see launch/figures/json_output.h
  std::string memory_mb = {};  // as given: MiB to find vocabularies for; "": storage.cache_mb
  std::string touched_rows = {};  // as given, of --sizes; "": all
  uint64_t max_samples = 0;       // of --count_ids; 0: all
  std::string measured = {};      // a model's directory; "": none
  bool has_strategy = false;      // --strategy was given
  std::string out = {};           // file to write; "": none
  // Of --plan=auto: what --trace and the flags of the cluster (--workers, --ps_memory_mb, ...) say.
  std::optional<LabRun> lab = {};
  std::optional<LoadBalanceManager> load_balance = {};
};
// Prints what the request wants, exactly one of: sizes of the model's tables and PS nodes
// (launch/plan/size_plan.h, node_plan.h), also if only a model is given; the plan of a run or
// counts of its data (launch/plan/plan_report.h); what LoadBalanceManager decided
// (launch/plan/load_balance.h). Writes plan or counts to `out`, whole or not at all.
// kUsage if it wants none or several.
Status RunPlan(const Settings& settings, const PlanRequest& request);

}  // namespace rowhouse
