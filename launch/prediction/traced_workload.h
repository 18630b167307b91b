// The workload of a run whose ids a trace knows: lookups, bags, distributions and miss ratios are
// those of the trace, not assumed. Threads: pure functions.
#pragma once

#include "launch/prediction/trace_summary.h"
#include "launch/settings/settings.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

// `summary`: of a trace read with the tables of the settings. Its step should have the samples of
// the settings' step: distinct rows of a step, and with them miss ratios, follow from it. Errors as
// WorkloadOf.
Result<Workload> TracedWorkload(const Settings& settings, uint32_t workers,
                                const TraceSummary& summary);

// How a trace's lookups of a table are spread; a row of a sampled table stands for several.
IdDistribution TracedDistribution(const TracedTable& table, const TableAccesses& accesses);

}  // namespace rowhouse
