// Outputs that flags name, checked before the work that makes them. Threads: one.
#pragma once

#include "common/status.h"
#include "launch/command_line/command_line.h"

namespace rowhouse {

// kUsage, naming the flag, if --json, --html, --csv, or --out of compare names a directory, or a
// file in a folder that is not there: a folder that is made for a mistyped path helps nobody. And
// if one of them, or --out of any verb, lies in a model, row or data directory.
Status CheckOutputFlags(const CommandLine& command_line);

// kUsage, naming both flags, if an output is one of the files that the command line or the settings
// give to read, by whatever name or link: it would take the place of what it is made from.
Status CheckOutputsAreNoInputs(const CommandLine& command_line, const Settings& settings);

}  // namespace rowhouse
