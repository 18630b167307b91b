// What each verb does; `main` calls one of these, or RunBench (launch/bench/bench.h). Settings are
// Validate()d.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "sharding/plans/load_balance_manager.h"

namespace rowhouse {

// Says on stderr what went wrong, once for all ranks; the exit code.
int RunTrain(const Settings& settings);
Status RunPs(const Settings& settings);
// Prints a table of the runs whose report.json files are named, and writes it as a page with a plot
// to `html_path` and, unless that is "", as CSV to `csv_path`. kUsage, and nothing printed or
// written, for a report that cannot be read. `of_strategies`: what sharding cost, not what runs
// learned; kInternal, after all is written, if runs ended with different rows. `json`: --json; with
// it no page is needed.
Status RunCompare(const std::vector<std::string>& reports, const std::string& html_path,
                  const std::string& csv_path, bool of_strategies = false,
                  const std::string& json = "");

// inspect TABLE ID, stats or compact, of the model in settings.output.model_dir: prints what it
// finds; `json`: --json. kUsage for what the operator can mend: names, rows on other hosts, in use,
// or left open by a run; kCorruption, naming shard and file, for rows that are not what was
// written. `given_compression`: what compact compresses with, as given on the command line; "":
// whatever each shard's files are compressed with already.
Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const std::string& given_compression, const std::string& json = "");

struct PlanRequest {
  bool wants_sizes = false;
  bool wants_counts = false;   // --count_ids
  bool wants_plan = false;     // --out, --measured, --plan or --strategy was given, and no counts
  bool has_model = false;      // --config or a flag of the model was given
  std::string json = {};       // --json; see launch/report/json_output.h
  std::string memory_mb = {};  // as given: MiB to find vocabularies for; "": storage.cache_mb
  std::string touched_rows = {};  // as given, of --sizes; "": all
  std::string max_samples = {};   // as given, of --count_ids; "": all
  std::string measured = {};      // a model's directory; "": none
  bool has_strategy = false;      // --strategy was given
  std::string out = {};           // file to write; "": none
  std::optional<LoadBalanceManager> load_balance = {};
};
// Prints what is asked for, where nothing is but a model its sizes: the sizes of the model's tables
// and of PS nodes (launch/report/size_plan.h, node_plan.h), the plan of a run or counts of its data
// (launch/report/plan_report.h), or what the LoadBalanceManager decided
// (launch/report/load_balance_report.h); writes plan or counts to `out`, whole or not at all.
// kUsage unless it is one.
Status RunPlan(const Settings& settings, const PlanRequest& request);

}  // namespace rowhouse
