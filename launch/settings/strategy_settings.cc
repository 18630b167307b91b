#include "launch/settings/strategy_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "launch/settings/setting_fields.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

bool Reads(const std::string& strategy, const std::string& setting) {
  const auto& own = ShardingStrategies().OptionsOf(strategy);
  if (std::ranges::count(own, setting, &DeclaredOption::name) > 0) return true;
  const auto made = ShardingStrategies().Make(strategy, {});
  // Of an unknown one the plan has more to say.
  return !made.ok() || std::ranges::count(made.value()->settings(), setting) > 0;
}

std::set<std::string> StrategiesOf(const Settings& settings) {
  std::set<std::string> strategies;
  for (size_t t = 0; t < settings.embedding.physical.size(); ++t) {
    if (settings.embedding.on_workers[t]) continue;  // by its kind, whatever it names
    const std::string& own = settings.embedding.strategies[t];
    strategies.insert(own.empty() ? settings.sharding.strategy : own);
  }
  if (strategies.empty()) strategies.insert(StrategyOnWorkers());
  return strategies;
}

// Fields of settings that are not at their defaults and that no strategy reads.
std::vector<const SettingField*> IdleFields(const Settings& settings) {
  static const Settings kDefaults;
  const std::set<std::string> strategies = StrategiesOf(settings);
  std::vector<const SettingField*> idle;
  for (const std::string& name : SettingsOfStrategies()) {
    const SettingField* const field = FindSettingField(name);
    CHECK(field != nullptr) << "a strategy reads " << name << ", which is no setting";
    const bool is_read = std::ranges::any_of(
        strategies, [&](const std::string& strategy) { return Reads(strategy, name); });
    if (!is_read && field->get(settings) != field->get(kDefaults)) idle.push_back(field);
  }
  return idle;
}

}  // namespace

std::set<std::string> SettingsOfStrategies() {
  std::set<std::string> all;
  for (const DeclaredOption& option : ShardingStrategies().DeclaredOptions()) {
    all.insert(option.name());
  }
  for (const std::string& name : ShardingStrategies().Names()) {
    for (const std::string& setting : ShardingStrategies().Make(name, {}).value()->settings()) {
      all.insert(setting);
    }
  }
  return all;
}

Status CheckStrategySettings(const Settings& settings) {
  std::vector<const SettingField*> idle = IdleFields(settings);
  if (AsksForPlanner(settings.sharding.plan)) {
    std::erase_if(idle, [](const SettingField* field) { return field->name == "hot_rows"; });
  }
  if (idle.empty()) return OkStatus();
  std::vector<std::string> readers = ShardingStrategies().Names();
  std::erase_if(readers, [&](const std::string& name) { return !Reads(name, idle[0]->name); });
  return UsageError("{}={}: strategy {} has no use for it; it is for {}: leave it out, or name one",
                    idle[0]->name, idle[0]->get(settings), fmt::join(StrategiesOf(settings), ", "),
                    fmt::join(readers, ", "));
}

void ForgetIdleStrategySettings(const std::vector<std::string>& given, Settings* settings) {
  static const Settings kDefaults;
  for (const SettingField* field : IdleFields(*settings)) {
    if (std::ranges::count(given, field->name) > 0) continue;
    CHECK(field->set(field->get(kDefaults), *settings).ok());
  }
}

}  // namespace rowhouse
