// The two ways in which a process ends early: the operator asks for it, or memory or threads run
// out.
#pragma once

#include <atomic>
#include <string>

namespace rowhouse {

// ---- The operator's request to save the model and end the run: Ctrl-C or SIGTERM ----------------
//
// It is sent to the process or to launch/mpirun.sh. The script hands them on as SIGUSR1 and
// SIGUSR2, which mpirun forwards to its ranks. (mpirun itself answers Ctrl-C and SIGTERM by killing
// all ranks a second later.) Threads: HandleStopSignals before any thread is started; the others on
// any thread.

// Handles the first Ctrl-C, SIGTERM or SIGHUP (the terminal is gone; not under nohup). A second one
// kills the process. The first one is answered with a line on stderr, by rank 0. SIGPIPE is
// ignored.
void HandleStopSignals();

// True once one of these signals has come.
const std::atomic<bool>& StopRequested();

// Which signal came: "SIGTERM", "Ctrl-C", "SIGUSR2"; "a signal to another rank" if none came to
// this process.
std::string StopSignalName();

// ---- Out of memory or threads, which no Status can carry ----------------------------------------

// From then on the process ends with one sentence on stderr and exit code 1, without a core dump.
// Call once, before any thread is started:
//   an allocation that fails          prints the sentence and ends the process by _exit(1)
//   a thread that cannot be started   does the same
//   abort() when out of memory or threads (libzmq's): same; any other abort() is unchanged
//   any other uncaught exception      prints what it says and ends the process by abort()
void InstallLastWords();

}  // namespace rowhouse
