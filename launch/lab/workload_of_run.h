// The workload and cluster of a run, from its settings; and the machine, from a calibration file.
//
// Threads: pure, but for reading files.
#pragma once

#include <optional>
#include <string>

#include "launch/settings/command_line.h"
#include "launch/settings/settings.h"
#include "sharding/cost/machine.h"
#include "sharding/cost/workload.h"

namespace rowhouse {

// `accesses`: of a trace or of --access_counts; null: as the data source generates, or evenly
// spread. Requires settings that are Complete() and Validate()d.
Result<Workload> WorkloadOf(const Settings& settings, const AccessCounts* accesses = nullptr);

// ps, shards, workers (1 unless given), threads of the settings; limits and network of the flags of
// plan (--workers, --hosts, --network_gbits, --round_trip_us, --ps_memory_mb, --ps_disk_mb).
Result<ClusterShape> ClusterOf(const Settings& settings, const CommandLine& command_line);

struct CalibratedMachine {
  Machine machine;
  std::string path;     // of the file; "": Machine::Typical()
  std::string warning;  // one sentence: not calibrated, of another host, other CPU; "": none
};
// --calibration, or else this host's file in the user's cache folder, or else typical figures with
// a warning. kUsage for a file that is named and cannot be read.
Result<CalibratedMachine> MachineOf(const CommandLine& command_line);

// $XDG_CACHE_HOME/rowhouse/calibration-<host>.json, or ~/.cache/...
std::string CalibrationPathOf(const std::string& host);

}  // namespace rowhouse
