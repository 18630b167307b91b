// rowhouse train: this rank of a run, as a worker or as the supervisor of a PS node. Threads: the
// main thread.
#pragma once

#include "launch/settings/settings.h"

namespace rowhouse {

// Returns the exit code; an error is printed on stderr, once for all ranks. Requires settings that
// are Validate()d.
int RunTrain(const Settings& settings);

}  // namespace rowhouse
