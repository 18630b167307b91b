// StrategyComparison: what sharding strategies cost on the same model and data, from the
// report.json of each run, for `rowhouse compare --strategies`.
//
// Reports of one label are repetitions of one strategy. Of a report this reads label, totals, rows
// and sharding; or, where a strategy was refused, label and "refused": why. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/report/text_table.h"

namespace rowhouse {

struct StrategyCost {
  // Largest over PS nodes, and what the mean is of that figure.
  struct OverNodes {
    double max = 0;
    double mean = 0;

    double max_over_mean() const { return mean > 0 ? max / mean : 1.0; }
  };
  std::string name;     // the label, or else the strategy and "+bags" where shards pool
  std::string refused;  // why; "": it was trained, and what follows is known
  std::vector<std::string> digests;    // of rows, of each repetition
  OverNodes placed_bytes;              // by the plan, of records; no row on a PS node: 0
  OverNodes cache_bytes;               // measured: memory of the caches
  OverNodes rows_stored;               // counted at the end, a row where its first columns are
  std::optional<double> worker_bytes;  // memory of rows on each worker; older reports: nothing
  OverNodes rows_pulled;               // a step
  double wire_bytes = 0;               // a step
  std::vector<double> step_ms;         // the median step of each repetition, ascending

  double median_step_ms() const;
};

// Strategies in the order in which the first report of each is given. kUsage, with the path, for
// what is no such report, and for one without a step.
Result<std::vector<StrategyCost>> ReadStrategyCosts(const std::vector<std::string>& paths);

TextTable StrategyTable(const std::vector<StrategyCost>& costs);
// The whole file of a page (launch/report/page.h).
std::string StrategyPage(const std::vector<StrategyCost>& costs);

// RFC 4180 with \n: strategy, placed_bytes_max, placed_bytes_max_over_mean, cache_bytes_max,
// cache_bytes_max_over_mean, rows_stored_max, rows_stored_max_over_mean, worker_bytes,
// rows_pulled_per_step_max, rows_pulled_max_over_mean, wire_bytes_per_step, step_ms_median,
// step_ms_min, step_ms_max, repetitions, rows_digest, refused.
std::string StrategyCsv(const std::vector<StrategyCost>& costs);

// OK if all runs ended with the same rows, and at least one was made; kInternal, naming two
// that did not: plans must decide no bit.
Status CheckSameRows(const std::vector<StrategyCost>& costs);

}  // namespace rowhouse
