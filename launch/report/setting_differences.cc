#include "launch/report/setting_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/json_text.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

// Lists as in flags: 13,512,256.
std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return DumpJson(value);
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + ValueText(item);
  return text;
}

// {a: 1, b: x}: "a 1, b x".
std::string MembersText(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (name == "name") continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, ValueText(value));
  }
  return text;
}

}  // namespace

RunSettings SettingsOfReport(const Json& report) {
  RunSettings settings;
  const Json sections = report.value("settings", Json::object());
  for (const auto& [section, members] : sections.items()) {
    if (section == "output" || !members.is_object()) continue;
    for (const auto& [name, value] : members.items()) {
      if (name == "row_dir") continue;
      settings.emplace_back(fmt::format("{}.{}", section, name), ValueText(value));
    }
  }
  for (const Json& table : report.value("tables", Json::array())) {
    if (!table.is_object() || !table.contains("name")) continue;
    settings.emplace_back("table " + ValueText(table["name"]), MembersText(table));
  }
  const Json environment = report.value("environment", Json::object());
  for (const char* name : {"hosts", "cores", "workers", "ps_nodes", "shards"}) {
    if (!environment.is_object() || !environment.contains(name)) continue;
    settings.emplace_back(fmt::format("environment.{}", name), ValueText(environment[name]));
  }
  const Json versions = report.value("versions", Json::object());
  for (const auto& [name, version] : versions.items()) {
    settings.emplace_back("version of " + name, ValueText(version));
  }
  return settings;
}

std::vector<SettingDifference> DifferencesOf(const std::vector<RunSettings>& runs) {
  std::vector<std::string> names;
  std::set<std::string> known;
  std::vector<std::map<std::string, std::string>> values;
  for (const RunSettings& run : runs) {
    values.emplace_back(run.begin(), run.end());
    for (const auto& [name, value] : run) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  std::vector<SettingDifference> differences;
  for (const std::string& name : names) {
    SettingDifference difference{.name = name, .values = {}};
    for (const auto& of_run : values) {
      const auto found = of_run.find(name);
      difference.values.push_back(found == of_run.end() ? "-" : found->second);
    }
    const bool is_same = std::ranges::all_of(
        difference.values, [&](const std::string& value) { return value == difference.values[0]; });
    if (!is_same) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace rowhouse
