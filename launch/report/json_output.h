// Where a verb's figures go as JSON: what --json says, the same for every verb that prints any.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// What --json is without a value: to standard output, where nothing else is printed then.
inline constexpr std::string_view kJsonToStdout = "-";

// `json`: the value of --json. "": prints `text`; "-": prints `json_text` and no `text`; else
// writes `json_text` to that file, whole or not at all, and then prints `text`. kUsage, naming
// --json, for a directory that does not exist.
Status DeliverFigures(const std::string& json, const std::string& json_text,
                      const std::string& text);

}  // namespace rowhouse
