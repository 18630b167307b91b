// --json: where a verb's figures go. Threads: one.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// The value of a --json without one: JSON to standard output, and nothing else.
inline constexpr std::string_view kJsonToStdout = "-";

// `json`: the value of --json. "": prints `text`; "-": prints `json_text` and no `text`; else
// writes `json_text` to that file, whole or not at all, and then prints `text`. kUsage, naming
// --json, for a directory that does not exist.
Status DeliverFigures(const std::string& json, const std::string& json_text,
                      const std::string& text);

}  // namespace rowhouse
