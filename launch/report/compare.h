// rowhouse compare. Threads: the main thread.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// Prints a table of the runs of these report.json files, and writes a page to `html_path` and CSV
// to `csv_path` (none if ""). `of_strategies`: compares the costs of sharding strategies instead of
// what runs learned; kInternal, after everything is written, if runs ended with different rows.
// `json`: the value of --json (launch/figures/json_output.h); with it html_path may be "". kUsage,
// and nothing is printed or written, for a report that cannot be read.
Status RunCompare(const std::vector<std::string>& reports, const std::string& html_path,
                  const std::string& csv_path, bool of_strategies = false,
                  const std::string& json = "");

}  // namespace rowhouse
