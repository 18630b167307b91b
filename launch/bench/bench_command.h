// Commands of `rowhouse bench` that are more than a figure beside a yardstick (bench.h): they have
// flags of their own and write files. `rowhouse bench NAME` runs one, alone.
//
// Threads: read-only after main begins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/register_member.h"
#include "common/status.h"
#include "launch/bench/bench.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

struct BenchCommand {
  std::string name;  // "calibrate"
  BenchNote note;    // its line in the list of benches
  Status (*run)(const CommandLine& command_line, const Settings& settings) = nullptr;
  bool is_hidden = false;  // not in the list: other commands start it as their ranks
};

// Registers a command, at namespace scope.
bool AddBenchCommand(BenchCommand command);

// Which kernels `bench kernels` measures; no other bench has parts to choose from.
inline constexpr const char* kOnlyFlag = "only";

// Registers, at namespace scope, a flag that only this bench reads.
bool AddBenchOption(std::string flag, std::string bench);

// Of those that are in the list, sorted.
std::vector<std::string> BenchCommandNames();

// The command that the command line names, or null. kUsage if it names others beside it, or has
// AddBenchOption's flag of another one.
Result<const BenchCommand*> BenchCommandOf(const CommandLine& command_line);

// Of those that are in the list, by name.
std::map<std::string, BenchNote> BenchCommandNotes();

}  // namespace rowhouse
