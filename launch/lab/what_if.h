// WhatIf: a run predicted under every combination of some settings, without training.
//
// Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/figures/figures.h"
#include "launch/settings/settings.h"
#include "sharding/lab/cost/step_cost.h"

namespace rowhouse {

// A setting, or a flag of `plan` that describes the cluster, and the values to try. Besides:
//   strategy   names of CandidateNames(): "row_wise", "row_wise+bags", "auto", or "all" of them
//   kind       of plain tables of more than qr_threshold rows; a kind whose options are numbers of
//              rows or columns gets a quarter of the table's
inline constexpr std::string_view kStrategyAxis = "strategy";
inline constexpr std::string_view kKindAxis = "kind";
struct WhatIfAxis {
  std::string name;
  std::vector<std::string> values;
};

// One combination.
struct WhatIfRow {
  std::vector<std::string> values;  // of each axis
  bool is_as_configured = false;    // what the settings say
  std::string kind_options;         // what the axis kind gave tables: "buckets=rows/4"; "": nothing
  std::string refusal;              // why it cannot be; "": it can, and only then the rest is set
  StepCost cost;
  uint64_t samples = 0;  // of a step, over all workers

  double us_per_sample() const { return 1e3 * cost.ms / static_cast<double>(samples); }
};

struct WhatIf {
  std::vector<WhatIfAxis> axes;
  std::vector<WhatIfRow> rows;  // by rising time of a sample; those that cannot be, last
  std::string ids;              // where ids are from, for people
  std::string machine_warning;  // of CalibratedMachine
};

inline constexpr size_t kMaxWhatIfRows = 1000;

// "strategy=row_wise,fair cache_mb=64,256": axes between blanks or semicolons, values between
// commas. "" or "-": all strategies, caches of a quarter, once and four times the size of
// `settings`, and once, twice and four times the PS nodes. kUsage for anything else, flags that
// plan does not have or that are the same for all combinations (--trace, --json), and more than
// kMaxWhatIfRows combinations.
Result<std::vector<WhatIfAxis>> WhatIfAxesOf(const std::string& text, const Settings& settings);

// kUsage for values that a setting does not take, before anything is predicted; for a trace, if
// nothing says what the model's tables are; and if no combination can be, with the first reason. If
// only some cannot be, each of them is a row with the reason.
Result<WhatIf> AskWhatIf(const CommandLine& command_line, const std::vector<WhatIfAxis>& axes);

// JSON: {axes, ids, rows: [{name: value, ..., ms, samples_per_second, ...}]}.
Figures WhatIfFigures(const WhatIf& what_if);

}  // namespace rowhouse
