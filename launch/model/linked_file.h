// Large files of a model that lie in several places at once: hard links where the file system is
// the same, copies elsewhere. Threads: one a path.
#pragma once

#include <string>

#include "common/status.h"

namespace rowhouse {

// Makes `path` a file of the same bytes, whole or not at all, which survives a crash. Does nothing
// if `path` is that file already. A link shares its bytes with `source`: both must be replaced, not
// written to.
Status LinkOrCopyDurably(const std::string& source, const std::string& path);

}  // namespace rowhouse
