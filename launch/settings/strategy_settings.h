// Settings that only some sharding strategies read: capacities, row_cuts, ...
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "launch/settings/settings.h"

namespace rowhouse {

// Requires settings that are Complete().

// OK if each that is not at its default is read by the strategy of some table, its own or that of
// the run. kUsage otherwise, naming it and who would read it.
Status CheckStrategySettings(const Settings& settings);

// Puts those that nobody reads back to their defaults, but for `given` ones.
void ForgetIdleStrategySettings(const std::vector<std::string>& given, Settings* settings);

}  // namespace rowhouse
