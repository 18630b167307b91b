// What a run left on this machine: processes that are still there, and files in its TMPDIR. Every
// process of a run has the TMPDIR it was started with in its environment, PS servers too, so a
// directory of the test alone marks them all.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rowhouse {

// Processes whose environment has TMPDIR=`directory`; those that ended and wait for their parent
// are none.
std::vector<pid_t> ProcessesWithTmpdir(const std::string& directory);

// Waits until no process with that TMPDIR and nothing in it is left, at most `limit`. "": nothing
// is; else what is, for people.
std::string LeftBehind(const std::string& directory, std::chrono::milliseconds limit);

}  // namespace rowhouse
