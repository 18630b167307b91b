// LabRun: a run to plan for: what it asks for, on which cluster and machine.
//
// Threads: plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/command_line/command_line.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/workload_of_run.h"
#include "launch/settings/settings.h"
#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/access_counts.h"

namespace rowhouse {

// Declares a flag of `plan` under the heading of the sharding lab, at namespace scope.
inline bool AddLabFlag(std::string_view name, std::string_view help,
                       std::string_view default_text = {}) {
  return AddVerbFlag({.name = name,
                      .verbs = kPlan,
                      .help = help,
                      .default_text = default_text,
                      .section = kLabSection});
}

struct LabRun {
  Settings settings;
  std::optional<AccessCounts> accesses;  // of --trace or --access_counts
  std::string ids;                       // where the spread of ids is known from, a sentence
  Workload workload;
  ClusterShape cluster;
  CalibratedMachine machine;

  const AccessCounts* counts() const { return accesses ? &*accesses : nullptr; }
};

// The run of the settings, by --trace, --max_samples, --calibration and the flags of the cluster.
// Requires settings that are Validate()d. kUsage for files that cannot be read or are of other
// tables, CheckTablesAreSaid(), and for clusters that cannot be.
Result<LabRun> LabRunOf(const CommandLine& command_line, const Settings& settings);

// A plan file that the run is given says how many PS nodes and shards there are, unless the
// operator does. kUsage for a file that cannot be read.
Status TakeShapeOfPlan(LabRun* run);

// If rows are stored on disk: makes caches no larger than the cluster's memory of a PS node.
void FitCaches(LabRun* run);
// What FitCaches changed, a sentence; "": nothing.
std::string CachesNote(const LabRun& run);

// kUsage for more hosts than PS nodes and workers: the rest would be empty.
Status CheckHosts(const ClusterShape& cluster);

// What is taken for the network between hosts where the operator does not say it; "": nothing, or
// there is one host.
std::string NetworkNote(const ClusterShape& cluster);

// How many samples of --trace to read at most, by --max_samples; 0: all. kUsage for another value.
Result<uint64_t> MaxSamplesOf(const CommandLine& command_line);

// Whether the operator says what the model's tables are.
bool AreTablesSaid(const CommandLine& command_line, const Settings& settings);
// kUsage for a --trace whose lookups would be taken for those of DLRM's default tables.
Status CheckTablesAreSaid(const CommandLine& command_line, const Settings& settings);

// Lines for a terminal: cluster, machine, ids, and what is assumed.
std::string LabRunText(const LabRun& run);
// Those but the cluster's.
std::string LabRunNotes(const LabRun& run);

}  // namespace rowhouse
