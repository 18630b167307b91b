// The operator's request to save the model and end the run: Ctrl-C or SIGTERM, sent to the process
// or to launch/mpirun.sh. The script hands them on as SIGUSR1 and SIGUSR2, which mpirun forwards to
// its ranks. (mpirun itself answers Ctrl-C and SIGTERM by killing all ranks a second later.)
//
// Threads: HandleStopSignals before any thread is started; the others on any thread.
#pragma once

#include <atomic>
#include <string>

namespace rowhouse {

// Handles the first Ctrl-C, SIGTERM or SIGHUP (the terminal is gone; not under nohup). A second one
// kills the process. The first one is answered with a line on stderr, by rank 0. SIGPIPE is
// ignored.
void HandleStopSignals();

// True once one of these signals has come.
const std::atomic<bool>& StopRequested();

// Which signal came: "SIGTERM", "Ctrl-C", "SIGUSR2"; "a signal to another rank" if none came to
// this process.
std::string StopSignalName();

}  // namespace rowhouse
