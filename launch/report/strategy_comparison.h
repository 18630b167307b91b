// StrategyComparison: the costs of sharding strategies on the same model and data, from the
// report.json of each run, for `rowhouse compare --strategies`.
//
// Reports of one label are repetitions of one strategy. It reads label, totals, rows and sharding
// of a report; for a refused strategy label and "refused", the reason. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/figures/figures.h"

namespace rowhouse {

struct StrategyCost {
  // The largest value over PS nodes, and the mean.
  struct OverNodes {
    double max = 0;
    double mean = 0;

    double max_over_mean() const { return mean > 0 ? max / mean : 1.0; }
  };
  std::string name;     // the label; without one, the strategy, with "+bags" if shards pool
  std::string refused;  // the reason; "" if it was trained, and only then the figures below are set
  std::vector<std::string> digests;    // of rows, for each repetition
  OverNodes placed_bytes;              // of the records a PS node owns by the plan
  OverNodes cache_bytes;               // memory of the caches
  OverNodes rows_stored;               // at the end; a row counts where its first column is
  std::optional<double> worker_bytes;  // memory of rows on each worker; not in older reports
  OverNodes rows_pulled;               // a step
  double wire_bytes = 0;               // a step
  std::vector<double> step_ms;         // the median step of each repetition, ascending

  double median_step_ms() const;
};

// The strategies in the order of their first reports. kUsage, with the path, for anything but such
// a report, and for one without a step.
Result<std::vector<StrategyCost>> ReadStrategyCosts(const std::vector<std::string>& paths);

// Of a refused strategy JSON has only `strategy` and `refused`.
FigureTable StrategyTable(const std::vector<StrategyCost>& costs);
// An HTML page (launch/figures/page.h).
std::string StrategyPage(const std::vector<StrategyCost>& costs);

// OK if all runs ended with the same rows, as plans change no bit, and at least one was trained;
// kInternal, naming two that differ, otherwise.
Status CheckSameRows(const std::vector<StrategyCost>& costs);

}  // namespace rowhouse
