#include "launch/settings/yaml_source.h"

#include <algorithm>
#include <map>

#include "common/nearest_name.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
namespace {

std::string DescribeUnknownKey(const std::string& name, const std::string& where,
                               const std::vector<std::string>& known) {
  const SettingField* const elsewhere = FindSettingField(name);
  if (elsewhere == nullptr) {
    return fmt::format("unknown key \"{}\" in {} {}", name, where, DescribeKnownNames(name, known));
  }
  if (elsewhere->section == Section::kCommandLine || elsewhere->section == Section::kServer) {
    return fmt::format("\"{}\" is for the command line only: --{}", name, name);
  }
  return fmt::format("key \"{}\" belongs to section {}, not to {}", name,
                     SectionName(elsewhere->section), where);
}

}  // namespace

Status YamlSource::CheckKeys(const YAML::Node& map, const std::string& where,
                             const std::vector<std::string>& known) const {
  if (!map.IsMap()) return At(map.Mark(), "{} must be a map of keys and values", where);
  std::map<std::string, int> line_of;
  for (const auto& entry : map) {
    const YAML::Node& key = entry.first;
    if (!key.IsScalar()) return At(key.Mark(), "a key of {} must be a plain word", where);
    const std::string& name = key.Scalar();
    const auto [first, is_new] = line_of.emplace(name, key.Mark().line + 1);
    if (!is_new) {
      return At(key.Mark(), "key \"{}\" is given twice in {}, first in line {}", name, where,
                first->second);
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return At(key.Mark(), "{}", DescribeUnknownKey(name, where, known));
    }
  }
  return OkStatus();
}

Status YamlSource::ReadScalar(const std::string& key, const YAML::Node& value,
                              const std::string& expected, std::string* text) const {
  if (value.IsScalar()) {
    *text = value.Scalar();
    return OkStatus();
  }
  if (value.IsNull()) return At(value.Mark(), "{} has no value: expected {}", key, expected);
  return At(value.Mark(), "{} is a {}: expected {}", key, value.IsMap() ? "map" : "list", expected);
}

Status YamlSource::JoinSequence(const std::string& key, const YAML::Node& sequence,
                                std::string* text) const {
  for (size_t i = 0; i < sequence.size(); ++i) {
    std::string item;
    RETURN_IF_ERROR(ReadScalar(key, sequence[i], "plain values in the list", &item));
    *text += (i == 0 ? "" : ",") + item;
  }
  return OkStatus();
}

}  // namespace rowhouse
