// The spans of a profile as a trace that ui.perfetto.dev and chrome://tracing open (Chrome's Trace
// Event Format, JSON): a process for each rank, a track for each of its threads, all on one clock.
//
// {"traceEvents": [...], "displayTimeUnit": "ns", "otherData": {"rowhouse_profile": 1, "clock":
// ...}}. Slices are complete events ("ph": "X", "ts" and "dur" in microseconds). Those of cat
// "phase" never overlap on a track; one of cat "step" or "group" encloses the phases it consists
// of. args: step, the amounts of the phase (samples, rows, lookups) and its sizes (inputs, outputs,
// table_rows, dim, ...), which `rowhouse plan --op_trace` reads.
// Threads: pure functions.
#pragma once

#include <string>

#include "launch/profile/run_profile.h"

namespace rowhouse {

std::string TraceText(const RunProfile& profile);

}  // namespace rowhouse
