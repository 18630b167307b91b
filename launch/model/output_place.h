// Where outputs may not go. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// kUsage, which begins with `path`, if a file or directory there would lie in a model directory or
// one of its checkpoints, in a row directory, or in a directory of converted data, at any depth:
// it might take the place of one of their files. `own`: directories of this run, which may not be
// made yet; "" is none. A link is followed; a stream, and "-", lie nowhere.
Status CheckOutsideModels(const std::string& path, const std::vector<std::string>& own = {});

}  // namespace rowhouse
