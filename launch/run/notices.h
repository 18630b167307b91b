// Notices before a run: DLRM's flags that have no effect here, DLRM's toy model because no model
// was given, evaluations without test samples.
#pragma once

#include <string>
#include <vector>

#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// True if --config or a flag of the model was given. Otherwise the model is DLRM's toy.
bool IsModelGiven(const CommandLine& command_line);

// The notices of `rowhouse train`, one line each. `settings`: the effective ones of `command_line`.
std::vector<std::string> NoticesOf(const CommandLine& command_line, const Settings& settings);

}  // namespace rowhouse
