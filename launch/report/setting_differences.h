// The settings in which runs differ, from the report.json of each. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

// Names and values, as text: settings ("training.learning_rate"), tables ("table user"),
// environment ("environment.workers") and versions. Paths of files and members of a wrong type are
// left out. Settings that have been renamed since have their new names.
using RunSettings = std::vector<std::pair<std::string, std::string>>;
RunSettings SettingsOfReport(const nlohmann::json& report);

struct SettingDifference {
  std::string name;
  std::vector<std::string> values;  // of each run; "-" if it has none
};

// The settings that do not have the same value in all runs, in the order of their first appearance.
std::vector<SettingDifference> DifferencesOf(const std::vector<RunSettings>& runs);

}  // namespace rowhouse
