// Settings as a user would give them, for tests of what they come to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launch/settings/setting_fields.h"
#include "launch/settings/settings.h"
#include "tests/testing/testing.h"

namespace rowhouse {

// Each setting by its name, in this order, everything else by default. Requires values that exist.
inline Settings WithAll(const std::vector<std::pair<std::string, std::string>>& values) {
  Settings settings;
  for (const auto& [name, value] : values) {
    const Status status = FindSettingField(name)->set(value, settings);
    CHECK(status.ok()) << status.ToString();
  }
  settings.Complete();
  return settings;
}

inline Settings Defaults() { return WithAll({}); }

inline Settings With(const std::string& name, const std::string& value) {
  return WithAll({{name, value}});
}

// The sentence with which settings are refused.
inline std::string Refusal(const Settings& settings) {
  const Status status = settings.Validate();
  if (status.ok()) return "accepted";
  EXPECT_EQ(status.exit_code(), 2);
  return status.message();
}

}  // namespace rowhouse
