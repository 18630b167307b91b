// Files of figures: --json, --out, and reports of runs. Threads: one for a path.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// The value of a --json without one: JSON to standard output, and nothing else.
inline constexpr std::string_view kJsonToStdout = "-";

// Writes the file that the flag --`flag` names, whole or not at all. kUsage, naming the flag, for a
// directory that does not exist.
Status WriteFileOfFlag(const std::string& flag, const std::string& path, const std::string& text);

// `json`: the value of --json. "": prints `text`; "-": prints `json_text` and no `text`; else
// writes `json_text` to that file (WriteFileOfFlag) and then prints `text`.
Status DeliverFigures(const std::string& json, const std::string& json_text,
                      const std::string& text);

// Replaces the file, or a link there, whole or not at all, and makes missing directories; a stream
// gets the text. Errors: common/durable_file.h.
Status WriteReportFile(const std::string& path, std::string_view text);

// The file as JSON. kUsage, with the path, if it is no JSON or cannot be read.
Result<nlohmann::json> ReadReportFile(const std::string& path);

}  // namespace rowhouse
