#include "launch/command_line/flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <deque>

#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
namespace {

// What gflags points to for as long as the process lives.
struct FlagStorage {
  std::string name, help, text, default_text;
  bool is_on = false, is_on_by_default = false;
};

void Register(const std::string& name, const std::string& help, bool is_switch,
              const std::string& value) {
  static std::deque<FlagStorage> storage;  // Its elements never move.
  storage.push_back({.name = name, .help = help, .text = value, .default_text = value});
  FlagStorage& flag = storage.back();
  constexpr const char* kFile = "launch/settings";
  if (is_switch) {
    flag.is_on = flag.is_on_by_default = ReadBool(value).value_or(false);
    gflags::FlagRegisterer(flag.name.c_str(), flag.help.c_str(), kFile, &flag.is_on,
                           &flag.is_on_by_default);
  } else {
    gflags::FlagRegisterer(flag.name.c_str(), flag.help.c_str(), kFile, &flag.text,
                           &flag.default_text);
  }
}

bool RegisterAll() {
  for (const SettingField& field : SettingFields()) {
    Register(field.name, field.help, field.kind == SettingKind::kBool, field.default_text());
  }
  for (const VerbFlag& flag : VerbFlags()) {
    if (FindVerbFlag(flag.name) != &flag) continue;  // gflags knows a name once.
    const bool is_switch = std::ranges::all_of(VerbFlags(), [&](const VerbFlag& other) {
      return other.name != flag.name || other.is_switch;
    });
    Register(std::string(flag.name), std::string(flag.help), is_switch,
             std::string(flag.default_text));
  }
  return true;
}

}  // namespace

void RegisterFlags() {
  [[maybe_unused]] static const bool is_done = RegisterAll();
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
}

std::span<const std::string> LogFlags() {
  static const std::vector<std::string> names = {
      "logtostderr", "alsologtostderr", "colorlogtostderr", "stderrthreshold",
      "minloglevel", "log_dir",         "log_prefix",       "max_log_size",
      "v",           "vmodule"};
  return names;
}

bool IsLogFlag(std::string_view name) { return std::ranges::count(LogFlags(), name) > 0; }

bool IsLogSwitch(std::string_view name) {
  return IsLogFlag(name) &&
         gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str()).type == "bool";
}

std::vector<std::string> GivenLogFlags() {
  std::vector<std::string> given;
  for (const std::string& name : LogFlags()) {
    const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    if (info.current_value == info.default_value) continue;
    given.push_back("--" + name + "=" + info.current_value);
  }
  return given;
}

}  // namespace rowhouse
