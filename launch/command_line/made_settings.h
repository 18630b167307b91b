// Settings, made of what the operator typed. Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// kUsage, with examples, for `train` where nothing says what to train: no flag at all, or only
// flags that name output files.
Status CheckSaysWhatToTrain(const CommandLine& command_line);

// Defaults, then --config (or the model's own config, if a run goes on from a model or a model
// scores), then the flags, then Settings::Complete(). Not yet Validate()d. With --print_config no
// sample is read.
Result<Settings> MakeSettings(const CommandLine& command_line);

// What --print_config prints: a config from which the same settings are made. Where a run would
// count the tables' rows in the data, it has no tables, and a comment says so.
std::string PrintedConfig(const Settings& settings);

}  // namespace rowhouse
