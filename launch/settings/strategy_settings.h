// Settings that only some sharding strategies read: capacities, row_cuts, ... What takes settings
// requires that they are Complete(). Threads: pure functions.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launch/settings/settings.h"

namespace rowhouse {

// The names of these settings, including options that strategies declare themselves.
std::set<std::string> SettingsOfStrategies();

// Of a setting `plan`: leaves the plan to the planner.
inline constexpr std::string_view kAutoPlan = "auto";
inline bool AsksForPlanner(std::string_view plan) { return plan == kAutoPlan; }

// kUsage if one of them is not at its default and no table's strategy reads it, nor the planner if
// it is asked for. The message names the setting and the strategies that read it.
Status CheckStrategySettings(const Settings& settings);

// Sets those that no table's strategy reads to their defaults, except those named in `given`.
void ForgetIdleStrategySettings(const std::vector<std::string>& given, Settings* settings);

}  // namespace rowhouse
