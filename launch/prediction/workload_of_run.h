// The workload and cluster of a run, from its settings.
//
// Threads: pure, but for reading files.
#pragma once

#include <string>

#include "launch/command_line/command_line.h"
#include "launch/prediction/trace_summary.h"
#include "launch/settings/settings.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

// `accesses`: of a trace. If null, lookups are spread as --access_counts says, if it is given; or
// else as the data source generates them; or else evenly. Steps are those of a run from the start,
// if the data's size is known. Requires settings that are Complete() and Validate()d.
Result<Workload> WorkloadOf(const Settings& settings, const AccessCounts* accesses = nullptr);
// For this many workers; the function above is for one worker.
Result<Workload> WorkloadOf(const Settings& settings, uint32_t workers,
                            const AccessCounts* accesses = nullptr);

// The workload of a run whose ids a trace knows: lookups, bags, distributions and miss ratios are
// those of the trace. `summary`: of a trace read with the tables of the settings. Its step should
// have the samples of the settings' step: distinct rows of a step, and with them miss ratios,
// follow from it. Errors as WorkloadOf.
Result<Workload> TracedWorkload(const Settings& settings, uint32_t workers,
                                const TraceSummary& summary);

// How a trace's lookups of a table are spread; a row of a sampled table stands for several.
IdDistribution TracedDistribution(const TracedTable& table, const TableAccesses& accesses);

// Workload::storage: how the PS nodes of such a run keep its rows.
StorageShape StorageOf(const Settings& settings);

// Where the distributions of ids of such a run come from, for people: "ids by zipf_exponent=1.05",
// "ids taken as evenly spread: give --access_counts or --trace".
std::string IdsAreFrom(const Settings& settings, bool has_trace);

// That many PS nodes, shards and workers on one host, with the threads of the settings.
ClusterShape ClusterOf(const Settings& settings, uint32_t ps, uint32_t shards_per_ps,
                       uint32_t workers);

// kUsage for 0 PS nodes, and for ps_per_host, as no hosts are known before a run.
Status CheckNodes(const ClusterSettings& cluster);

// ps (1 unless given), shards, threads of the settings; workers (1 unless given), limits and
// network of the flags of plan: --workers, --hosts, --cores_per_host, --network_gbits,
// --round_trip_us, --ps_memory_mb, --ps_disk_mb, --worker_memory_mb. kUsage, naming the flag, for a
// value out of range.
Result<ClusterShape> ClusterOf(const Settings& settings, const CommandLine& command_line);

// For errors: the flags that set the limits which a plan has to keep,
// " (--ps_memory_mb=64, --worker_memory_mb=4)"; "": there are none.
std::string LimitsText(const ClusterShape& cluster, const Machine& machine,
                       uint64_t ps_rows_mb = 0);

}  // namespace rowhouse
