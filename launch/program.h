// A program of Rowhouse: reads the command line and hands over to the verb.
//
// Two programs share this source: `rowhouse` trains, serves, scores and plans; `rowhouse-lab` also
// measures and experiments (bench, modes of plan). What is linked into a program registers itself.
// A user types `rowhouse` only: for bench, for flags of plan that it does not know, for --help and
// for completion it becomes rowhouse-lab.
//
// Threads: the main thread.
#pragma once

#include <string>

#include "common/registry.h"
#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Lies beside rowhouse.
inline constexpr const char* kLabProgram = "rowhouse-lab";

using VerbRun = Status (*)(const CommandLine& command_line, const Settings& settings);
// Registers, at namespace scope, what runs a verb of rowhouse-lab.
bool AddVerbRun(const std::string& verb, VerbRun run);

// Returns the exit code: 0, 2 for the operator's mistakes, 1 for the world's faults.
int RunProgram(int argc, char** argv);

}  // namespace rowhouse
