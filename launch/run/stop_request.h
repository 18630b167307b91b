// The operator's request to end a run in order: by Ctrl-C or SIGTERM to the process, or to
// launch/mpirun.sh, which hands them on as SIGUSR1 and SIGUSR2, the signals that mpirun forwards to
// its ranks. (mpirun answers Ctrl-C and SIGTERM itself, by killing all ranks a second later.)
//
// Threads: HandleStopSignals before any; the others from all.
#pragma once

#include <atomic>
#include <string>

namespace rowhouse {

// Ctrl-C, SIGTERM and SIGHUP (the terminal is gone; not under nohup) are taken once: a second one
// kills. SIGPIPE is ignored.
void HandleStopSignals();

// Set by the first of these signals: save and stop after this step.
const std::atomic<bool>& StopRequested();

// "SIGTERM", "Ctrl-C", "SIGUSR2": what the request was; "a signal to another rank" if this process
// got none.
std::string StopSignalName();

}  // namespace rowhouse
