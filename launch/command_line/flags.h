// Flags as gflags has them. Own flags are registered with gflags from their entries
// (launch/settings/setting_fields.h, launch/command_line/verb_flags.h), with names, defaults and
// help; glog's are its own. Values are read by launch/command_line/command_line.h alone, which
// turns them into Settings; nobody declares or reads FLAGS_*. Threads: one; gflags are
// process-wide.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rowhouse {

// Registers all flags, once, and makes logtostderr the default, for --help, too.
void RegisterFlags();

// glog's own flags that stay useful here.
std::span<const std::string> LogFlags();
bool IsLogFlag(std::string_view name);
// Whether it is one that is given without a value: --logtostderr.
bool IsLogSwitch(std::string_view name);

// "--name=value" of those that were given, for a process that this one starts.
std::vector<std::string> GivenLogFlags();

}  // namespace rowhouse
