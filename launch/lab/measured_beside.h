// A simulated run beside real ones of the same settings. Threads: pure, but for reading files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/figures/figures.h"
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

// Adds both to the figures; as JSON: "beside" {"runs", "step_ms": {"simulated", "measured",
// "error", "spread"}, "wire_bytes": {...}, "load": [{...}]}.
void AddBeside(const SimulatedRun& simulated, const MeasuredRun& measured, Figures* figures);

}  // namespace rowhouse
