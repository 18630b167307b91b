// rowhouse data COMMAND ...: looks at data and makes the binary form. Each command is one file of
// this folder and registers itself.
//
// Threads: read-only after main begins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"
#include "worker/data/blocks/data_directory.h"

namespace rowhouse {

struct DataCommand {
  std::string name;       // "convert"
  std::string arguments;  // how messages name them: "FILE ... --out=DIR"
  std::string what;       // one line
  // `arguments`: those after the command's name.
  Status (*run)(const CommandLine& command_line, const std::vector<std::string>& arguments,
                const Settings& settings) = nullptr;
};

// Registers a command, at namespace scope.
bool AddDataCommand(DataCommand command);

// kUsage, listing the commands, for none or an unknown one; else what the command returns.
Status RunDataVerb(const CommandLine& command_line, const Settings& settings);

// ---- For commands -------------------------------------------------------------------------------

// The text format that --data_generation names; else the schema's; else Criteo's.
std::string TextSourceOf(const std::string& data_generation, const Schema& schema);

// Opens the one directory among `arguments`, or that of --data. kUsage if there is none or several.
Result<std::shared_ptr<const DataDirectory>> OpenDataArgument(
    const std::string& command, const std::vector<std::string>& arguments,
    const Settings& settings);

// Calls task(i) for i from 0 to count - 1, on as many threads as this process has cores. A task's
// error ends it all: no further task is begun, and the error of the smallest i is returned.
Status ForEachOnAllCores(size_t count, const std::function<Status(size_t i)>& task);

}  // namespace rowhouse
