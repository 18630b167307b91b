// Reads and writes files of reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Replaces the file, or a link there, whole or not at all, and makes missing directories; a stream
// gets the text. Errors:
// common/durable_file.h. Threads: any, one per path.
Status WriteReportFile(const std::string& path, std::string_view text);

// The file as JSON. kUsage, with the path, if it is no JSON or cannot be read.
Result<nlohmann::json> ReadReportFile(const std::string& path);

}  // namespace rowhouse
