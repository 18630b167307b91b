// A simulated run beside real ones of the same settings. Threads: pure, but for reading files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/lab/simulator/simulator.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

// Real runs; figures are medians over them.
struct MeasuredRun {
  size_t runs = 0;
  double step_ms = 0;        // the median step
  double step_spread = 0;    // (largest - smallest) / median over the runs
  double wire_bytes = 0;     // a step
  std::vector<double> load;  // rows that each PS node was asked for, a step
};

// Of the reports that `paths` names, joined by commas. kUsage, with the path, for files that are no
// reports, and for runs of other tables, or on other numbers of PS nodes or workers than `cluster`.
Result<MeasuredRun> ReadMeasuredRun(const std::string& paths, const ClusterShape& cluster,
                                    std::span<const LogicalTable> tables);

// Lines for a terminal; and {"runs", "step_ms": {"simulated", "measured", "error", "spread"},
// "wire_bytes": {...}, "load": [{...}]}.
std::string BesideText(const SimulatedRun& simulated, const MeasuredRun& measured);
nlohmann::ordered_json BesideToJson(const SimulatedRun& simulated, const MeasuredRun& measured);

}  // namespace rowhouse
