// What a run left on this machine: processes that still run, and files in its TMPDIR. All processes
// of a run, PS servers included, inherit TMPDIR, so a TMPDIR of the test's own identifies them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace rowhouse {

// Processes whose environment has TMPDIR=`directory`, without zombies.
std::vector<pid_t> ProcessesWithTmpdir(const std::string& directory);

// Waits, at most `limit`, until no process with that TMPDIR and no file in it is left. Returns ""
// or a description of what is left.
std::string LeftBehind(const std::string& directory, std::chrono::milliseconds limit);

}  // namespace rowhouse
