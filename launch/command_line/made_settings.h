// Settings, made of what the operator typed. Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// kUsage, with examples, for `train` where nothing says what to train: no flag at all, or only of
// what the run leaves behind.
Status CheckSaysWhatToTrain(const CommandLine& command_line);

// Defaults, then --config (or, of a model that is gone on from or scores, its own), then the flags,
// then Settings::Complete(). Not yet Validate()d. With --print_config no sample is read.
Result<Settings> MakeSettings(const CommandLine& command_line);

// What --print_config prints: a config from which the same settings are made. Without tables, which
// a comment says, where a run would count them in the data.
std::string PrintedConfig(const Settings& settings);

}  // namespace rowhouse
