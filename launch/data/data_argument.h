// The data directory that a command of `rowhouse data` looks at, and how it may be named.
//
// Threads: one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "worker/data/blocks/data_directory.h"

namespace rowhouse {

// Opens the one directory among `arguments`, or that of --data. kUsage if there is none or several.
Result<std::shared_ptr<const DataDirectory>> OpenDataArgument(
    const std::string& command, const std::vector<std::string>& arguments,
    const Settings& settings);

// Calls task(i) for i from 0 to count - 1, on as many threads as this process has cores. A task's
// error ends it all: no further task is begun, and the error of the smallest i is returned.
Status ForEachOnAllCores(size_t count, const std::function<Status(size_t i)>& task);

}  // namespace rowhouse
