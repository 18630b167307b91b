// What settings of runs differ, from the report.json of each. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

// Name and value, as text, of what was decided for a run: settings ("training.learning_rate"),
// tables ("table user"), where it ran ("environment.workers") and versions. Left out is what only
// says where its files are; members of the wrong type are left out, too. Settings that have been
// renamed since have their new names.
using RunSettings = std::vector<std::pair<std::string, std::string>>;
RunSettings SettingsOfReport(const nlohmann::json& report);

struct SettingDifference {
  std::string name;
  std::vector<std::string> values;  // of each run; "-": it has none
};

// Only those of which two runs have not the same value, in the order in which they come first.
std::vector<SettingDifference> DifferencesOf(const std::vector<RunSettings>& runs);

}  // namespace rowhouse
