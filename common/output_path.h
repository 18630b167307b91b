// What stands at the path of an output. A regular file is replaced, whole, by a rename; a device, a
// pipe and an open descriptor of this process (/dev/stdout, /dev/fd/3) are written to, as a rename
// would put a file in their place for all processes.
//
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Whether `path` is to be written to and not replaced. A descriptor is, whatever it leads to:
// /dev/stdout of a shell's "> file" looks like a regular file.
bool IsWrittenThrough(const std::string& path);

// Opens such a path for writing. A descriptor is duplicated, so that what is written follows what
// the process has written there already. -1, with errno, if it cannot be.
int OpenWrittenThrough(const std::string& path);

// The file that is replaced: `path`, or where a link there leads, so that the link stays.
std::string ReplacedFile(const std::string& path);

// Writes `text` through, or replaces the file that a link there leads to, whole or not at all.
// Errors: common/durable_file.h.
Status WriteOutput(const std::string& path, std::string_view text);

// OK if a file may be renamed to `path`: nothing is there, or a regular file. kUsage, which begins
// with the path and says what is there, for a directory, a device, a pipe and a link; and if the
// folder that is to hold it is not there.
Status CheckReplaceable(const std::string& path);

// OK if `path` may be written, through or anew: as CheckReplaceable, but streams and links pass.
Status CheckWritable(const std::string& path);

}  // namespace rowhouse
