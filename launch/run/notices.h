// What an operator should know before a run starts and did not ask for: DLRM's flags that change
// nothing, a toy that is trained because no model was given, tests with nothing to test.
#pragma once

#include <string>
#include <vector>

#include "launch/settings/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Whether --config or a flag of the model was given; else the model is DLRM's toy.
bool IsModelGiven(const CommandLine& command_line);

// Of `rowhouse train`, a line each, in words. `settings` are those the command line comes to.
std::vector<std::string> NoticesOf(const CommandLine& command_line, const Settings& settings);

}  // namespace rowhouse
