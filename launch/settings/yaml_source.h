// What readers of parts of the YAML file share: every mistake says where it is.
//
// Threads: const.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

class YamlSource {
 public:
  // `name` stands in messages: the path.
  explicit YamlSource(std::string name) : name_(std::move(name)) {}

  // kUsage "configs/x.yaml:12:3: ...".
  template <typename... Args>
  Status At(const YAML::Mark& mark, fmt::format_string<Args...> format, Args&&... args) const {
    return UsageError("{}:{}:{}: {}", name_, mark.line + 1, mark.column + 1,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  // A map whose keys are known and occur once. `where` ends a sentence: "section training".
  Status CheckKeys(const YAML::Node& map, const std::string& where,
                   const std::vector<std::string>& known) const;

  // `expected` ends a sentence, for a value that is a list, a map or not there.
  Status ReadScalar(const std::string& key, const YAML::Node& value, const std::string& expected,
                    std::string* text) const;

  // The items of a list, joined by commas.
  Status JoinSequence(const std::string& key, const YAML::Node& sequence, std::string* text) const;

 private:
  const std::string name_;
};

}  // namespace rowhouse
