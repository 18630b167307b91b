// Runs of this program as processes of their own, what the system does as an operator runs it, and
// of yardsticks in PyTorch. They are ended when a signal stops this process (stop_signal.h).
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/hosts/child_process.h"

namespace rowhouse {

// The script by which operators use mpirun (launch/mpirun.sh), beside this program's tree or
// installed. kUnavailable if it or mpirun is not there.
Result<std::string> MpirunScript();

// Runs this program under mpirun and waits for its end. `arguments`: of the program, from the verb
// on. Its processes are ended at the deadline: kDeadlineExceeded.
Result<CommandOutput> RunUnderMpirun(int ranks, const std::vector<std::string>& arguments,
                                     std::chrono::milliseconds deadline);

struct ChildRun {
  std::string yaml = {};           // its --config; "": none
  std::vector<std::string> flags;  // besides
  uint32_t deadline_ms = 120'000;  // it is ended then
  int ranks = 0;                   // under mpirun; 0: without it, one PS node and one worker
};

// Runs `rowhouse train` of this program. Returns its report.json. kInternal with what it printed,
// or without mpirun with the last line of that, if it fails; kDeadlineExceeded.
Result<nlohmann::json> TrainInChild(const ChildRun& run);

// Runs tests/bench/`script` of the tree in which this program was built, by Debian's Python, whose
// PyTorch is Debian's. Returns the list that it prints as JSON. kUnavailable if it is not there or
// refuses, which it does in its first line: without PyTorch, and where it would be no yardstick.
Result<nlohmann::json> RunTorchScript(const std::string& script,
                                      const std::vector<std::string>& flags);

}  // namespace rowhouse
