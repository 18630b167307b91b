// rowhouse ps: a PS node, which serves its shards until it is asked to stop. Threads: the main
// thread.
#pragma once

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Requires settings that are Validate()d.
Status RunPs(const Settings& settings);

}  // namespace rowhouse
