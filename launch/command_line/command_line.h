// The command line:  rowhouse VERB [--flag=value ...] [ARGUMENT ...]
//
//   --name=value  --name value  --switch  --noswitch  --switch=false   - may stand for _ in names
//   --flagfile=FILE   one flag a line, # comments; its flags stand where the file is named
//   --                ends the flags
// If a flag has several values the last one counts. Every mistake is kUsage and says what was
// given, where (file and line, for flag files) and what was expected instead.
//
// gflags' parser exits the process on a mistake, with another code and without the line of a flag
// file, so it is not used. Threads: one; glog's flags are process-wide.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "common/value.h"
#include "launch/command_line/help.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// One flag as the operator gave it.
struct GivenFlag {
  std::string name;     // canonical
  std::string value;    // "true" or "false" for switches
  std::string origin;   // "configs/local.flags:12"; "" for the command line itself
  std::string as = {};  // the name that was given, where it is an alias; else ""

  // "--ps=4 (configs/local.flags:12)", as it stands in messages.
  std::string Describe() const;
};

struct CommandLine {
  std::string verb;  // "" only with help or version
  std::vector<GivenFlag> flags;
  // Words that are no flags: names for bench, an action for ckpt, reports for compare.
  std::vector<std::string> arguments;
  // DLRM's flags that were given and change nothing, as DLRM spells them, each once.
  std::vector<std::string> ignored;
  bool wants_help = false;
  HelpPage help_page = HelpPage::kBasic;
  std::string help_topic;  // of plan (PlanHelpText)
  bool wants_version = false;

  // The last value given, or `fallback`.
  std::string Value(std::string_view flag, const std::string& fallback = "") const;
  // The last one of that name; null: it is not given.
  const GivenFlag* Given(std::string_view flag) const;
};

// The value of a flag that is no setting; *out is left alone if it is not given. kUsage,
// naming the flag and where it stands, for a text that is no such value.
template <typename T>
Status ReadFlag(const CommandLine& command_line, std::string_view flag, const Value<T>& value,
                T* out) {
  const GivenFlag* const given = command_line.Given(flag);
  if (given == nullptr) return OkStatus();
  Result<T> read = value.read(given->value);
  if (!read.ok()) return read.status().Annotate(given->Describe());
  *out = std::move(read).value();
  return OkStatus();
}

// Reads argv. Values of settings are checked here, so that a message can say where they stand;
// flags of glog are set as well.
Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace rowhouse
