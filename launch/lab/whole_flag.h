// WholeFlag: the whole number that a flag gives. Threads: pure function.
#pragma once

#include <cstdint>

#include "common/status.h"
#include "launch/settings/command_line.h"

namespace rowhouse {

// `otherwise` without the flag. kUsage, naming the flag, unless its number is `least` to `most`.
Result<uint64_t> WholeFlag(const CommandLine& command_line, const char* flag, uint64_t otherwise,
                           uint64_t least, uint64_t most);

}  // namespace rowhouse
