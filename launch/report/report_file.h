// How every file of a report is written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Replaces the file, whole or not at all; makes missing directories above it. Errors:
// common/durable_file.h. Threads: any, one per path.
Status WriteReportFile(const std::string& path, std::string_view text);

// Any JSON; kUsage, with the path, for what is none or cannot be read.
Result<nlohmann::json> ReadReportFile(const std::string& path);

}  // namespace rowhouse
