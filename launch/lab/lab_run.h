// LabRun: a run to plan for: what it asks for, on which cluster and machine.
//
// Threads: plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/lab/workload_of_run.h"
#include "launch/settings/command_line.h"
#include "launch/settings/settings.h"
#include "sharding/cost/workload.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

struct LabRun {
  Settings settings;
  std::optional<AccessCounts> accesses;  // of --trace or --access_counts
  std::string ids;                       // where the spread of ids is known from, a sentence
  Workload workload;
  ClusterShape cluster;
  CalibratedMachine machine;

  const AccessCounts* counts() const { return accesses ? &*accesses : nullptr; }
};

// The run of the settings, by --trace, --calibration and the flags of the cluster. Requires
// settings that are Validate()d. kUsage for files that cannot be read or are of other tables, and
// for clusters that cannot be.
Result<LabRun> LabRunOf(const CommandLine& command_line, const Settings& settings);

// Lines for a terminal: cluster, machine, ids, and what is assumed.
std::string LabRunText(const LabRun& run);

}  // namespace rowhouse
