// Runs this program under mpirun, by the script that operators use (launch/mpirun.sh), and waits
// for its end. Threads: one call at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/child_process.h"
#include "common/status.h"

namespace rowhouse {

// The script, beside this program's tree or installed. kUnavailable if it or mpirun is not there.
Result<std::string> MpirunScript();

// This program's file.
std::string ThisProgram();

// `arguments`: of the program, from the verb on. Its processes are ended at the deadline
// (kDeadlineExceeded), and when this process is told to stop (stop_signal.h).
Result<CommandOutput> RunUnderMpirun(int ranks, const std::vector<std::string>& arguments,
                                     std::chrono::seconds deadline);

}  // namespace rowhouse
